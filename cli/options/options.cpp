#include "options.hpp"

#include "ppsim/base/words.hpp"
#include "ppsim/scenario/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "setters.hpp"

namespace ppsim::cli {
namespace {

using S = Section;
using A = Argument;
using I = Inputs;

/// More threads than any machine has, and more points than any plot shows.
constexpr std::size_t most_threads = 4096, most_points = 10'000;

/// The times of more steps would fill the memory, and sums must stay in range.
constexpr std::size_t most_steps = 1'000'000;

constexpr std::array recompute_methods{Choice{"uniform", RecomputeUnits::Method::uniform},
                                       Choice{"block", RecomputeUnits::Method::block}};
constexpr std::array switches{Choice{"on", true}, Choice{"off", false}};
constexpr std::array backward_orders{Choice{"ascending", false}, Choice{"descending", true}};
constexpr std::array data_types{Choice{"bf16", DataType::bf16}, Choice{"fp16", DataType::fp16},
                                Choice{"fp8", DataType::fp8}, Choice{"tf32", DataType::tf32},
                                Choice{"fp32", DataType::fp32}};
constexpr std::array token_dispatchers{Choice{"flex", TokenDispatcher::flex},
                                       Choice{"alltoall", TokenDispatcher::alltoall}};
constexpr std::array dispatch_data_types{Choice{"bf16", DataType::bf16}, Choice{"fp8", DataType::fp8}};
constexpr std::array context_exchanges{Choice{"p2p", ContextExchange::p2p},
                                       Choice{"all_gather", ContextExchange::all_gather},
                                       Choice{"a2a", ContextExchange::a2a}};
constexpr std::array zero_stages{Choice{"1", std::int64_t{1}}, Choice{"2", std::int64_t{2}},
                                 Choice{"3", std::int64_t{3}}};
constexpr std::array attentions{Choice{"flash", Attention::flash}, Choice{"unfused", Attention::unfused}};
constexpr std::array recomputations{Choice{"none", RecomputeKind::none}, Choice{"selective", RecomputeKind::selective},
                                    Choice{"full", RecomputeKind::full}};
constexpr std::array optimizer_steps{Choice{"synchronous", OptimizerStep::synchronous},
                                     Choice{"per-stage", OptimizerStep::per_stage}};
constexpr std::array objectives{Choice{"makespan", Objective::makespan}, Choice{"step-time", Objective::step_time}};
constexpr std::array transfer_models{Choice{"latency", TransferModel::latency}, Choice{"link", TransferModel::link},
                                     Choice{"blocking", TransferModel::blocking},
                                     Choice{"streams", TransferModel::streams}};
constexpr std::array pytorch_versions{Choice{"2.6", false}, Choice{"2.14", true}};
constexpr std::array p2p_kinds{Choice{"edge", P2p::edge}, Choice{"pair", P2p::pair},
                               Choice{"direction", P2p::direction}, Choice{"group", P2p::group},
                               Choice{"batched", P2p::batched}};
constexpr std::array compute_kinds{Choice{"real", runtime::Compute::real}, Choice{"timed", runtime::Compute::timed}};
constexpr std::array<Choice<std::string_view>, 3> transports{
    {{"direct", "direct"}, {"paced", "paced"}, {"nccl-self", "nccl-self"}}};
constexpr std::array blocks{Choice{"mlp", runtime::Block::mlp}, Choice{"transformer", runtime::Block::transformer}};
constexpr std::array trainers{Choice{"sgd", runtime::OptimizerKind::sgd}, Choice{"adam", runtime::OptimizerKind::adam}};

constexpr std::array frameworks{Choice{"any", Framework::any}, Choice{"megatron", Framework::megatron},
                                Choice{"torchtitan", Framework::torchtitan}, Choice{"deepspeed", Framework::deepspeed}};
/// More than anyone reads.
constexpr std::size_t most_rows = 10'000;

/// More rounds and seeds than any search needs.
constexpr std::size_t most_effort = 1'000'000'000;

constexpr std::array table{
    Option{"stages", "pp", S::pipeline, A::required, "P", count<&I::stages, Limits::stages>,
           "pipeline stages: devices, ranks", "schedule-file"},
    Option{"mb", "microbatches", S::pipeline, A::required, "M", count<&I::microbatches, Limits::tasks>,
           "microbatches per step", "schedule-file"},
    Option{"vpp", "virtual-stages", S::pipeline, A::required, "V", counts<&I::vpp, Limits::chunks>,
           "chunks per stage (virtual stages); default 1. compare takes a list for the schedules that can choose; its "
           "default is 2,4 or what divides the layers",
           "schedule-file"},
    Option{"schedule", "", S::pipeline, A::required, "NAME", set_schedule,
           "a schedule by name ('ppsim list schedules'); default 1f1b, or interleaved with --vpp above 1",
           "schedule-file,SCHEDULE-OPTIONS"},
    Option{"schedules", "", S::comparison, A::required, "NAME[,...]", set_schedules,
           "the schedules to compare ('ppsim list schedules'); default all", "SCHEDULE-OPTIONS"},
    Option{"schedule-file", "", S::pipeline, A::required, "FILE", set_text<&I::schedule_file>,
           "read the order from a PyTorch pipelining CSV or an InfiniTrain task list (*.tasks.csv); sets P, M and V; "
           "if it does not run, compare shows the others and ends with 3",
           "schedule,stages,mb,vpp,SCHEDULE-OPTIONS"},
    Option{"overlap-moe-expert-parallel-comm", "", S::pipeline, A::none, "", set_flag<&I::overlap_expert_exchange>,
           "interleaved: in the steady state, run each forward together with a backward, whose compute hides the "
           "all-to-alls of the forward's experts (--pair hide); needs one more warm-up forward"},
    Option{"group-size", "microbatch-group-size", S::pipeline, A::required, "G", count<&I::group_size, Limits::tasks>,
           "interleaved: microbatches per group of one chunk; default P"},
    Option{"gpipe-backward", "", S::pipeline, A::required, "ORDER", choice<&I::descending_backward, backward_orders>,
           "gpipe: the order of its backwards: ascending (default), or descending as in the paper"},
    Option{"activation-limit", "", S::pipeline, A::required, "N", count<&I::activation_limit, Limits::tasks>,
           "zb-auto, v-auto, synthesize: activations (of one chunk and microbatch) that a stage may hold; default P, "
           "for v-auto 2P. The schedules also take --memory-limit with --activation-bytes instead"},
    Option{"replicas", "", S::pipeline, A::required, "N[,...]", counts<&I::replicas, Limits::stages>,
           "pipedream: stages that share each position of the pipeline and take its microbatches in turn; default 1 "
           "each. Costs and memory are then per position"},
    Option{"layers", "", S::pipeline, A::required, "N", count<&I::layers, longest_layout>,
           "layers of the model, split evenly over the chunks (the first chunks take a remainder). Costs and memory "
           "follow the split: one value is that of the mean stage",
           "layout"},
    Option{"first-stage-layers", "decoder-first-pipeline-num-layers", S::pipeline, A::required, "N",
           count<&I::first_stage_layers, longest_layout>,
           "layers on the first stage; the other stages share the rest evenly", "layout"},
    Option{"last-stage-layers", "decoder-last-pipeline-num-layers", S::pipeline, A::required, "N",
           count<&I::last_stage_layers, longest_layout>,
           "layers on the last stage; the other stages share the rest evenly", "layout"},
    Option{"layout", "pipeline-model-parallel-layout", S::pipeline, A::required, "STRING", set_layout,
           "what each chunk holds, in Megatron-LM's notation: E embedding, t layer, m layer for multi-token "
           "prediction, L loss, | between chunks; x*n and (...)*n repeat: 'Et*10|(t*11|)*2,t*9L'. Sets V",
           "layers,first-stage-layers,last-stage-layers,vpp"},
    Option{"balance", "", S::pipeline, A::none, "", set_flag<&I::balance>,
           "find the split of --layers or of a --layout that has the shortest step and fits into memory"},
    Option{"forward-only", "", S::pipeline, A::none, "", set_flag<&I::forward_only>,
           "run only the forwards of the schedule, as in inference; a schedule file must then hold forwards only"},

    Option{"model", "", S::model, A::required, "NAME|FILE", set_text<&I::model>,
           "compute costs from a model's shape: a shipped model ('ppsim list models') or a TOML file. Other options "
           "override these costs"},
    Option{"device", "", S::model, A::required, "NAME|FILE", set_text<&I::device>,
           "the device's datasheet: a shipped device ('ppsim list devices') or a TOML file; also sets --memory-limit"},
    Option{"flops", "", S::model, A::required, "N", set_unit<&I::flops>,
           "without --model: floating-point operations of one microbatch in the whole model, forward and backward "
           "(with --forward-only the forward): 1.2PFLOP, 1.2e15. Used for MFU (with --device) and similar metrics"},
    Option{"efficiency", "", S::model, A::required, "SHARE", set_efficiency,
           "share of the datasheet's rates that all operations reach; default: a share for each kind of operation "
           "(docs/costs.md)"},
    Option{"measured-step", "", S::model, A::required, "TIME[,mb=N,vpp=N,schedule=NAME]", set_measured_step,
           "a measured step time, of this run or of one with other microbatches, chunks or schedule: compute times are "
           "scaled until they explain it",
           "efficiency"},
    Option{"microbatch-size", "micro-batch-size", S::model, A::required, "N",
           count<&Training::microbatch_size, ModelLimits::ranks>, "samples in a microbatch; default 1"},
    Option{"sequence-length", "seq-length", S::model, A::required, "N",
           count<&Training::sequence_length, ModelLimits::tokens>, "tokens of a sample; default: the model's"},
    Option{"tensor-parallel", "tensor-model-parallel-size,tp", S::model, A::required, "N",
           count<&Training::tensor_parallel, ModelLimits::ranks>,
           "devices that share each layer, and so each stage; default 1"},
    Option{"sequence-parallel", "", S::model, A::required, "SWITCH", choice<&Training::sequence_parallel, switches>,
           "tensor parallelism also splits norms, along the sequence: on (default) or off"},
    Option{"context-parallel", "context-parallel-size,cp", S::model, A::required, "N",
           count<&Training::context_parallel, ModelLimits::ranks>,
           "devices over which the sequence is split; default 1"},
    Option{"cp-comm-type", "", S::model, A::required, "KIND", choice<&Training::context_exchange, context_exchanges>,
           "how the ranks of --context-parallel exchange keys and values: p2p (default) around a ring during the "
           "attention; all_gather before it; a2a exchanges heads"},
    Option{"expert-parallel", "expert-model-parallel-size,ep", S::model, A::required, "N",
           count<&Training::expert_parallel, ModelLimits::ranks>, "devices over which experts are spread; default 1"},
    Option{"expert-tensor-parallel", "expert-tensor-parallel-size", S::model, A::required, "N",
           count<&Training::expert_tensor_parallel, ModelLimits::ranks>,
           "devices over which each expert is split; default --tensor-parallel, or 1 if --expert-parallel leaves too "
           "few devices"},
    Option{"moe-token-dispatcher", "moe-token-dispatcher-type", S::model, A::required, "KIND",
           choice<&Training::token_dispatcher, token_dispatchers>,
           "how tokens reach experts: flex (default) sends a token to each node once, alltoall to each of its experts"},
    Option{"moe-dispatch-data-type", "", S::model, A::required, "TYPE",
           choice<&Training::dispatch_data_type, dispatch_data_types>,
           "data type in which tokens are sent to experts: bf16 (default) or fp8; results return in bf16"},
    Option{"gpus-per-node", "", S::model, A::required, "N", count<&Training::gpus_per_node, ModelLimits::ranks>,
           "devices that the device's own link connects; default 8 (GB200: 72)"},
    Option{"data-parallel", "dp", S::model, A::required, "N", count<&Training::data_parallel, ModelLimits::ranks>,
           "copies of the pipeline that share a batch and reduce their gradients; default 1"},
    Option{"distributed-optimizer", "", S::model, A::required, "SWITCH",
           choice<&Training::distributed_optimizer, switches>,
           "divide the optimizer state over data-parallel ranks (ZeRO 1): on (default) or off"},
    Option{"zero-stage", "", S::model, A::required, "N", choice<&Training::zero_stage, zero_stages>,
           "what data-parallel ranks divide among themselves: 1 (default) optimizer state, 2 also gradients, 3 also "
           "parameters (FSDP)"},
    Option{"overlap-param-gather", "", S::model, A::required, "SWITCH",
           choice<&Training::overlap_param_gather, switches>,
           "gather a distributed optimizer's parameters during the next step's forwards: on (default) or off"},
    Option{"async-tensor-model-parallel-allreduce", "", S::model, A::required, "SWITCH",
           choice<&Training::async_tensor_collective, switches>,
           "overlap the input gradient's tensor-parallel collective with the weight gradient: on (default) or off"},
    Option{"data-type", "", S::model, A::required, "TYPE", choice<&Training::data_type, data_types>,
           "data type of matrix products; default bf16"},
    Option{"attention", "", S::model, A::required, "KIND", choice<&Training::attention, attentions>,
           "flash stores no scores, unfused stores them; default: the model's"},
    Option{"gradient-bytes-per-parameter", "", S::model, A::required, "N",
           count<&Training::gradient_bytes, ModelLimits::gradient_bytes>,
           "bytes of gradient for each parameter; default 4 (fp32)"},
    Option{"optimizer-bytes-per-parameter", "", S::model, A::required, "N",
           count<&Training::optimizer_bytes, ModelLimits::optimizer_bytes, 0>,
           "bytes of optimizer state for each parameter; default 12 (Adam: two moments and a master copy), or 8 with "
           "fp32 and tf32"},
    Option{"tensor-link", "", S::model, A::required, "NAME|FILE[,...]",
           set_measured_link<&Training::tensor_link, &I::tensor_link_files>,
           "link of tensor parallelism: a name ('ppsim list links'), or files of nccl-tests measured on it "
           "(all_gather_perf, reduce_scatter_perf, all_reduce_perf); default: the device's; for "
           "ranks on several nodes ib-ndr of their devices on each"},
    Option{"expert-link", "", S::model, A::required, "NAME|FILE[,...]",
           set_measured_link<&Training::expert_link, &I::expert_link_files>,
           "link of expert parallelism: a name or files of alltoall_perf; default: within a node --tensor-link, or the "
           "device's; between nodes ib-ndr"},
    Option{"context-link", "", S::model, A::required, "NAME|FILE[,...]",
           set_measured_link<&Training::context_link, &I::context_link_files>,
           "link of context parallelism: a name or files of all_gather_perf, reduce_scatter_perf, alltoall_perf; "
           "default: the device's if its ranks fit into a node, else ib-ndr (all_gather: as --data-link)"},
    Option{"data-link", "", S::model, A::required, "NAME|FILE[,...]",
           set_measured_link<&Training::data_link, &I::data_link_files>,
           "link of data parallelism: a name or files of reduce_scatter_perf, all_gather_perf, all_reduce_perf; "
           "default: the device's if its ranks fit into a node, else ib-ndr of their devices on each"},

    Option{"forward", "", S::costs, A::required, "TIME[,...]", set_list<&I::forward>,
           "forward time of a stage for one microbatch; or one value per chunk (P*V values), or per chunk and "
           "microbatch (P*V*M, chunk by chunk); default 1ms"},
    Option{"backward", "", S::costs, A::required, "TIME[,...]", set_list<&I::backward>,
           "time of the full backward, in the same forms; split in half if only this is given; default 2ms",
           "input-grad,weight-grad"},
    Option{"input-grad", "", S::costs, A::required, "TIME[,...]", set_list<&I::input_grad>,
           "input-gradient half of the backward", "backward"},
    Option{"weight-grad", "", S::costs, A::required, "TIME[,...]", set_list<&I::weight_grad>,
           "weight-gradient half of the backward", "backward"},
    Option{"overhead", "", S::costs, A::required, "TIME", set_unit<&I::overhead>,
           "time added to every task, for kernel launches or Python; default 0ns"},
    Option{"slow", "", S::costs, A::required, "[C:]S=FACTOR[,...]", set_slow,
           "multiply the compute times of stage S by FACTOR, for each of its chunks. FACTOR alone: all stages that are "
           "not named; C:S=FACTOR: only in copy C of --data-parallel, counted from 0"},
    Option{"pair",
           "",
           S::costs,
           A::required,
           "RULE",
           {set_pair, words_of<pair_rules>},
           "how long an overlapped pair F&B lasts: sum (default), max, serial, hide, or a factor of the sum"},
    Option{"forward-collective", "", S::costs, A::required, "TIME[,...]", set_list<&I::forward_collective>,
           "part of the forward that is communication (tensor parallelism, all-to-all); --pair hide overlaps it"},
    Option{"backward-collective", "", S::costs, A::required, "TIME[,...]", set_list<&I::backward_collective>,
           "part of the input-gradient half of the backward that is communication"},
    Option{"embedding", "", S::costs, A::required, "FORWARD[,BACKWARD]", set_list<&I::embedding>,
           "time that the embedding adds to the first chunk; its backward is all weight gradient, by default as long "
           "as the forward"},
    Option{"head", "", S::costs, A::required, "FORWARD[,BACKWARD]", set_list<&I::head>,
           "time that output layer and loss add to the last chunk; its backward is half weight gradient, by default "
           "twice as long as the forward"},
    Option{"recompute", "recompute-granularity", S::costs, A::required, "KIND", choice<&I::recompute, recomputations>,
           "activations that a backward recomputes: none (default); selective: some, see --recompute-time and "
           "--checkpoint-bytes; full: all except the input of a chunk",
           "recompute-time,checkpoint-bytes,microbatches-without-recompute"},
    Option{"recompute-time", "", S::costs, A::required, "TIME[,...]", set_list<&I::recompute_time>,
           "time that recomputation adds to the backward; default with --recompute full: the forward time"},
    Option{"recompute-method", "", S::costs, A::required, "METHOD", choice<&I::recompute_method, recompute_methods>,
           "layers that --recompute full recomputes: uniform (default): all, in units of --recompute-num-layers, and "
           "each unit keeps its input; block: the first --recompute-num-layers of each chunk"},
    Option{"recompute-num-layers", "", S::costs, A::required, "N", count<&I::recompute_num_layers, ModelLimits::layers>,
           "layers in a unit, or per chunk; default 1"},
    Option{
        "recompute-modules", "", S::model, A::required, "NAME[,...]", set_recompute_modules,
        "modules that --recompute selective recomputes: core_attn (default), layernorm, mla_up_proj, mlp_act, moe_act"},
    Option{"microbatches-without-recompute", "", S::costs, A::required, "N",
           count<&I::microbatches_without_recompute, Limits::tasks, 0>,
           "keep the first N of every W+1 forwards of a stage with W warm-up forwards; default 0"},
    Option{"reduce", "", S::costs, A::required, "TIME[,...]", set_list<&I::reduce>,
           "time of the data-parallel reduction of a stage's gradients, or one value per chunk; overlaps the tasks"},
    Option{"tied-embedding-reduce", "", S::costs, A::required, "TIME", set_unit<&I::tied_embedding_reduce>,
           "time to reduce the embedding that the first and the last chunk share"},
    Option{"optimizer", "", S::costs, A::required, "TIME[,...]", set_list<&I::optimizer>,
           "time of a stage's optimizer step, or one value per chunk"},
    Option{"overlap-grad-reduce", "", S::costs, A::required, "SWITCH", choice<&I::overlap_grad_reduce, switches>,
           "when a chunk's gradients are reduced: on: during its stage's other tasks; off: after all of them. Default "
           "on; off with --model and --distributed-optimizer off"},
    Option{"optimizer-step", "", S::costs, A::required, "WHEN", choice<&I::optimizer_step, optimizer_steps>,
           "synchronous (default): all stages together; per-stage: each as soon as its own gradients are ready"},

    Option{"comm", "", S::communication, A::required, "TIME[,...]", set_list<&I::comm>,
           "time of a transfer between stages, or one per boundary between chunks (P*V-1 values); default 0ns",
           "latency,bandwidth,link"},
    Option{"latency", "", S::communication, A::required, "TIME[,...]", set_list<&I::latency>,
           "fixed part of a transfer's time; --bandwidth gives the rest", "comm,link"},
    Option{"bandwidth", "", S::communication, A::required, "RATE", set_unit<&I::bandwidth>,
           "bandwidth of a link: 50GB/s, 400Gbit/s", "comm,link"},
    Option{"link", "", S::communication, A::required, "NAME", set_link<&I::link>,
           "latency and bandwidth between stages from a datasheet ('ppsim list links'; nvlink is the device's own); "
           "default with --model: ib-ndr",
           "comm,latency,bandwidth"},
    Option{"boundary-bytes", "", S::communication, A::required, "SIZE[,...]", set_list<&I::boundary_bytes>,
           "size of a transfer, or one per boundary between chunks"},
    Option{"transfer", "", S::communication, A::required, "MODEL", choice<&I::transfer, transfer_models>,
           "latency (default): no contention; link: one transfer at a time per link; blocking: stages wait for their "
           "sends and receives; streams: sends and receives in order on communicators, as NCCL runs them"},
    Option{"lowering", "", S::communication, A::required, "NAME", set_lowering,
           "what places sends and receives for --transfer streams and --csv-comms ('ppsim list lowerings'); default: "
           "edge, ppsim's own runtime, or the file if it has such cells"},
    Option{"overlap-p2p", "", S::communication, A::optional, "PASSES", set_overlap_p2p,
           "with --lowering megatron and several chunks per stage: the passes that sends and receives overlap: steady "
           "(default): those of 1F1B (overlap_p2p_comm); all: also those of warm-up and cool-down "
           "(overlap_p2p_comm_warmup_flush); none (batch_p2p_comm): the default with --p2p batched"},
    Option{"pytorch-version", "", S::communication, A::required, "VERSION",
           choice<&I::pytorch_reduces, pytorch_versions>,
           "PyTorch version that --csv-comms and --lowering pytorch follow: 2.14 (default), or 2.6 for versions before "
           "2.10, which have no REDUCE_GRAD"},
    Option{"p2p", "", S::communication, A::required, "HOW", choice<&I::p2p, p2p_kinds>,
           "which sends and receives share a communicator: edge: one per directed edge; pair: one per pair of stages, "
           "as PyTorch's isend and irecv on a group without device_id; direction: one for all activations and one for "
           "all gradients, as PyTorch's pipeline_per_direction_p2p; group: one for all, as batch_isend_irecv; batched: "
           "as group, but each task's sends form one group with the next task's receives, as in Megatron-LM. Default: "
           "what the lowering is meant for (--transfer streams), edge (replay)"},
    Option{"eager-below", "", S::communication, A::required, "SIZE", set_unit<&I::eager_below>,
           "with --transfer streams: sends of fewer bytes do not wait for their receive; default 0B"},
    Option{"comm-slowdown", "", S::communication, A::required, "FACTOR", set_comm_slowdown,
           "with --transfer streams: factor on compute time while a transfer occupies multiprocessors of its stage; "
           "default 1"},
    Option{"slow-link", "", S::communication, A::required, "S=FACTOR[,...]", set_slow_link,
           "multiply the time of transfers between stages S and S+1, both ways, by FACTOR; A-B=FACTOR: between stages "
           "A and B"},
    Option{"send-slices", "", S::communication, A::required, "N", count<&I::send_slices, Limits::slices>,
           "equal slices in which a task sends its output, each when that share of the task is done; default 1"},
    Option{"stages-per-node", "", S::communication, A::required, "N", count<&I::stages_per_node, Limits::stages>,
           "consecutive stages that share a node; with --transfer link they also share its one uplink"},
    Option{"inter-node-link", "", S::communication, A::required, "NAME", set_link<&I::inter_node_link>,
           "latency and bandwidth between nodes from a datasheet", "inter-node-latency,inter-node-bandwidth"},
    Option{"inter-node-latency", "", S::communication, A::required, "TIME", set_unit<&I::inter_node_latency>,
           "fixed part of a transfer's time between nodes; default: as within a node"},
    Option{"inter-node-bandwidth", "", S::communication, A::required, "RATE", set_unit<&I::inter_node_bandwidth>,
           "bandwidth between nodes; default: as within a node"},

    Option{"activation-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::activation_bytes>,
           "activations of a stage for one microbatch, or one value per chunk"},
    Option{
        "weight-activation-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::weight_activation_bytes>,
        "part of the activations that W needs and keeps until it ends; the rest is freed at the end of I; default all"},
    Option{"checkpoint-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::checkpoint_bytes>,
           "part of the activations that a recomputed forward keeps; default with --recompute full: the input of a "
           "chunk (--boundary-bytes)"},
    Option{"release-outputs", "", S::memory, A::none, "", set_flag<&I::release_outputs>,
           "free the output of a chunk (--boundary-bytes, part of its activation) once it is sent"},
    Option{"parameter-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::parameter_bytes>,
           "parameters of a stage, or one value per chunk"},
    Option{"gradient-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::gradient_bytes>,
           "gradients of a stage, or one value per chunk"},
    Option{"optimizer-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::optimizer_bytes>,
           "optimizer state of a stage, or one value per chunk"},
    Option{"memory-limit", "", S::memory, A::required, "SIZE", set_unit<&I::memory_limit>,
           "memory of a device; exit status 3 when a stage needs more"},

    Option{"scenario", "", S::scenario, A::required, "FILE", set_text<&I::scenario>,
           "read options from a TOML file; its keys are these options without the leading dashes. Options on the "
           "command line override it"},
    Option{"title", "", S::scenario, A::required, "TEXT", set_text<&I::title>,
           "a name for the run, shown in report and chart"},
    Option{"source", "", S::scenario, A::required, "TEXT", set_text<&I::source>,
           "origin of the costs, shown in report and chart"},

    Option{"backend",
           "",
           S::workload,
           A::required,
           "NAME",
           {set_backend, backend_names},
           "what a replay runs on ('ppsim list backends'); default threads"},
    Option{"compute", "", S::workload, A::required, "HOW", choice<&I::compute, compute_kinds>,
           "real (default): tasks compute a model of the sizes below; timed: tasks only take as long as the costs say"},
    Option{"transport", "", S::workload, A::required, "HOW", choice<&I::transport, transports>,
           "how outputs are sent: direct: as fast as the machine can; paced: as long as the scenario says (emulated "
           "links); nccl-self: by NCCL on one GPU. Default direct, or paced (if the backend can) with --compute timed "
           "and transfers that take time"},
    Option{"slots", "", S::workload, A::required, "N", count<&I::slots, Limits::tasks>,
           "outputs that may have arrived over an edge without being used yet; default: one more than the prediction "
           "needs"},
    Option{"block", "", S::workload, A::required, "KIND", choice<&runtime::Workload::block, blocks>,
           "kind of layer: mlp (default), or transformer, with attention"},
    Option{"tokens", "", S::workload, A::required, "N", count<&runtime::Workload::tokens, runtime::most_rows>,
           "rows of an activation; default 256 (scale: as measured)"},
    Option{"width", "", S::workload, A::required, "N", count<&runtime::Workload::width, runtime::most_rows>,
           "columns of an activation; default 256 (scale: as measured)"},
    Option{"heads", "", S::workload, A::required, "N", count<&runtime::Workload::heads, runtime::most_rows>,
           "heads of a transformer's attention; must divide the width; default 4 (scale: as measured)"},
    Option{"layers-per-chunk", "", S::workload, A::required, "N",
           count<&runtime::Workload::layers, runtime::most_layers>,
           "layers that each chunk computes; default 1 (scale: as measured)"},
    Option{"seed", "", S::workload, A::required, "N", Setter{set_seed, std::numeric_limits<std::uint32_t>::max()},
           "seed for parameters, inputs and targets, and for the draws of synthesize, --jitter and --jitter-from; "
           "default 1"},
    Option{"trainer", "", S::workload, A::required, "KIND", choice<&runtime::Workload::optimizer, trainers>,
           "optimizer of a replay: sgd (default) or adam", "learning-rate"},
    Option{"learning-rate", "", S::workload, A::required, "X", set_learning_rate,
           "learning rate of that optimizer; default 0.05, with adam 0.002, and less for more than 16 layers"},

    Option{"warmup", "", S::replay, A::required, "N", count<&I::warmup, most_steps, 0>,
           "steps to run before those that count; default 2"},
    Option{"steps", "", S::replay, A::required, "N", count<&I::steps, most_steps>, "steps that count; default 5"},
    Option{"timeout", "", S::replay, A::required, "TIME", set_timeout,
           "stop if nothing progresses for this long; default 10 s plus ten predicted steps; without costs 1 min, more "
           "for large work"},
    Option{"inject", "", S::replay, A::required, "FAULT", set_fault,
           "make the run fail in its second step, to test how it ends: fail@1F3 (the task throws), stall@0B2 (it never "
           "ends), no-memory@1F0, lose@0F2 (its output is never sent), resize@0F1 (its output has the wrong size)"},
    Option{"output", "", S::replay, A::required, "FILE", set_text<&I::output>,
           "where to write the result: a scenario (calibrate, scale, import) or a run (replay), compressed if FILE "
           "ends in .gz; also -o FILE"},
    Option{"timeline", "", S::replay, A::required, "FILE", set_text<&I::timeline>,
           "validate: the run file that 'ppsim replay -o FILE' wrote; import: where to write one"},
    Option{"published", "", S::replay, A::required, "FILE", set_text<&I::published>,
           "a table of published runs: their step times, and the options that simulate them (docs/formats.md)"},
    Option{"rows", "", S::replay, A::none, "", set_flag<&I::rows>, "with --published: list every run"},
    Option{"replica", "", S::replay, A::required, "N", count<&I::replica, ModelLimits::ranks, 0>,
           "which of several data-parallel replicas to use; default 0, or the slowest for the pictures of explain"},
    Option{"calibrate", "", S::replay, A::required, "SHARE", set_calibrate,
           "share of a run's steps, the first ones, from which to predict the others: 25%, 0.25; default 25% for a "
           "prediction by means, 50% by draws"},
    Option{"by-microbatch", "", S::replay, A::none, "", set_flag<&I::by_microbatch>,
           "write costs per chunk and microbatch, for microbatches that differ in length"},
    Option{"mean-stage", "", S::replay, A::none, "", set_flag<&I::mean_stage>,
           "write costs of the mean stage, and --embedding and --head for the ends: costs for any number of chunks"},
    Option{
        "tolerance", "", S::replay, A::required, "SHARE", set_tolerance,
        "largest error of the predicted step time: 5% (default; none with --published), 0.05; exit status 3 beyond it"},

    Option{"vary", "", S::comparison, A::required, "NAME=FROM..TO", set_vary,
           "compare: where the best schedule changes as one numeric option runs over a range (comm=0..2ms) or over "
           "values (mb=8..256:x2, tensor-parallel=1,2,4). sweep: the values of any option, repeatable: mb=8..256:x2, "
           "comm=0..2ms:+500us, schedule=1f1b,zb-v or all"},
    Option{"table", "", S::comparison, A::required, "FILE", set_text<&I::table>,
           "the rows as CSV (FILE.csv) or as JSON lines (FILE.jsonl); default CSV to stdout"},
    Option{"resume", "", S::comparison, A::none, "", set_flag<&I::resume>,
           "continue the --table of an interrupted sweep; without this option, the table is written anew"},
    Option{"points", "", S::comparison, A::required, "N", count<&I::points, most_points, 2>,
           "with --vary: number of values to simulate; default 100, for counts up to 256"},
    Option{"precision", "", S::comparison, A::required, "AMOUNT", set_text<&I::precision>,
           "with --vary: smallest distance between tried values: 1us; 8 tries every eighth count; default about "
           "1/10000 of the range, 1 for counts"},
    Option{"rank-by",
           "",
           S::comparison,
           A::required,
           "FIGURE",
           {set_rank_by, words_of<rank_figures>},
           "what to rank by: step-time (default); with --jitter also mean (the default with --vary), p50, p95 or p99; "
           "for plan also memory"},
    Option{"jitter-svg", "", S::comparison, A::required, "FILE", set_text<&I::jitter_svg>,
           "with --jitter or --jitter-from: plot the distribution of step times, schedule by schedule"},
    Option{"threads", "", S::comparison, A::required, "N", count<&I::threads, most_threads>,
           "schedules, published runs, rows of a sweep or orders of a search to try at once; default: the number of "
           "processors; 1 for "
           "each process of a sweep under mpirun"},
    Option{"markdown", "", S::comparison, A::optional, "FILE", set_text<&I::markdown>,
           "the comparison as a GitHub table; without FILE or with '-' to stdout, instead of the table"},

    Option{"placement", "", S::synthesis, A::required, "NAME[,...]", set_placements,
           "placement of the chunks: linear (default, one per stage), v (two, in a V), loop:N (N, in a loop); several "
           "of them, or all: linear, v, loop:2 and loop:4"},
    Option{"no-split", "", S::synthesis, A::none, "", set_flag<&I::no_split>,
           "keep backwards whole, not split into input and weight gradients"},
    Option{"objective", "", S::synthesis, A::required, "WHAT", choice<&I::objective, objectives>,
           "what to minimize: makespan (default) or step-time. They differ with --optimizer-step per-stage: stages do "
           "not meet between steps, and the longest span of a stage counts"},
    Option{"effort", "", S::synthesis, A::required, "N", count<&I::effort, most_effort, 0>,
           "rounds of search after the first orders; default 4. The result depends only on this and on --seed"},
    Option{"time", "", S::synthesis, A::required, "TIME", set_unit<&I::search_time>,
           "search this long for each placement instead: 10s. Results may differ from run to run"},
    Option{"gap", "", S::synthesis, A::required, "SHARE", set_gap,
           "stop once the order is proven to be within this share of the best: 1%; default 0"},

    Option{"certificate", "", S::synthesis, A::required, "FILE", set_text<&I::certificate>,
           "write the order, the bound and its proof, for 'ppsim certify' and other checkers (docs/synthesis.md); "
           "with --vary one for each point: of c.json and 8 in c-8.json"},

    Option{"progress-svg", "", S::synthesis, A::required, "FILE", set_text<&I::progress_svg>,
           "plot how the best order and the bound approach each other during the search"},

    Option{"gpus", "", S::planning, A::required, "N", count<&I::gpus, ModelLimits::ranks>, "devices of the cluster"},
    Option{"global-batch", "global-batch-size", S::planning, A::required, "N", count<&I::global_batch, Limits::tasks>,
           "samples in a step, summed over all data-parallel copies"},
    Option{"fixed", "", S::planning, A::required, "NAME=VALUE[/VALUE...][,...]", set_fixed,
           "limit the choices for tp, cp, ep, dp, pp, mbs (microbatch-size), vpp, schedule, recompute, zero "
           "(zero-stage; 0: without a distributed optimizer) and sp (sequence-parallel): tp=4/8,recompute=none"},
    Option{"for", "", S::planning, A::required, "FRAMEWORK", choice<&I::framework, frameworks>,
           "only configurations that this framework runs: any (default), megatron, torchtitan or deepspeed"},
    Option{"top", "", S::output, A::required, "N", count<&I::top, most_rows>,
           "number of configurations to rank; default 20"},
    Option{"json", "", S::output, A::optional, "FILE", set_text<&I::json>,
           "write the report as JSON (schema 1); without FILE, or with '-', to stdout instead of the report"},
    Option{"svg", "", S::output, A::required, "FILE", set_text<&I::svg>,
           "write a Gantt chart; for a comparison, the charts of the fastest schedules on one time axis"},
    Option{"svg-memory", "", S::output, A::none, "", set_flag<&I::svg_memory>,
           "with --svg: draw below the chart what each stage holds over time, and mark what exceeds --memory-limit; "
           "without sizes, count live activations"},
    Option{"html", "", S::output, A::required, "FILE", set_text<&I::html>,
           "write a page to explore: zoom, point, ask; one file, no network"},
    Option{"trace", "", S::output, A::required, "FILE", set_text<&I::trace>, "write Chrome trace events, for Perfetto"},
    Option{"csv", "", S::output, A::required, "FILE", set_text<&I::csv>,
           "write the order as PyTorch pipelining CSV, or as an InfiniTrain task list if FILE ends in .tasks.csv"},
    Option{"csv-comms", "", S::output, A::required, "FILE", set_text<&I::csv_comms>,
           "write the same CSV with send and receive cells: those that --transfer streams simulates, those of the "
           "file, those of --lowering, or else as PyTorch places them"},
    Option{"chakra", "", S::output, A::required, "PREFIX", set_text<&I::chakra>,
           "write MLCommons Chakra execution traces for ASTRA-sim, one file per stage: PREFIX.0.et and so on"},
    Option{"goal", "", S::output, A::required, "FILE", set_text<&I::goal>, "write GOAL text, for LogGOPSim"},
    Option{"tasks", "", S::output, A::none, "", set_flag<&I::tasks>,
           "list every task with its step and times, in the report or the JSON"},
    Option{"sensitivity", "", S::output, A::none, "", set_flag<&I::sensitivity>,
           "show what would help: 1 % faster compute on each stage, links twice as fast, more microbatches, more "
           "chunks; with --jitter or --jitter-from also how much of p95 the jitter of each stage causes"},
    Option{"bound", "", S::output, A::none, "", set_flag<&I::bound>,
           "prove how far the schedule is from the best order, at most: the best with its placement and its kind of "
           "backwards (whole or split), within --memory-limit or else within the memory of the schedule itself"},
    Option{"jitter", "", S::output, A::required, "SHARE", set_jitter,
           "vary task times at random by this standard deviation (log-normal) and show the mean, p50, p95 and p99 of "
           "the step time; the slowest of --data-parallel copies counts"},
    Option{"jitter-from", "", S::output, A::required, "RUN.json", set_text<&I::jitter_from>,
           "vary task times as in a measured run: by stage and pass, with what the tasks of a step, of a stage in a "
           "step and of a microbatch have in common. The run needs several steps and as many stages"},
    Option{"samples", "", S::output, A::required, "N", count<&I::samples, JitterLimits::samples>,
           "with --jitter or --jitter-from: number of steps to simulate; default 1000"},
    Option{"fail-if", "", S::output, A::required, "CONDITION", add_fail_if,
           "exit with status 3 if the condition holds: 'bubble_ratio > 0.1'; compare applies it to the recommended "
           "schedule"},
};

} // namespace

std::string_view to_string(Section section) {
  constexpr std::array<std::string_view, section_count> names{"Pipeline",   "Model",     "Costs",    "Communication",
                                                              "Memory",     "Scenario",  "Workload", "Replay",
                                                              "Comparison", "Synthesis", "Plan",     "Output"};
  return names[static_cast<std::size_t>(section)];
}

bool is_scenario_key(const Option& option) {
  return option.section != Section::output && option.section != Section::comparison &&
         option.section != Section::replay && option.section != Section::synthesis && option.name != "scenario";
}

std::vector<std::string_view> Option::aliases() const {
  return alias.empty() ? std::vector<std::string_view>{} : split_list(alias);
}

bool Option::has_alias(std::string_view word) const {
  for (std::string_view rest = alias; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == word) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

std::span<const Option> options() {
  return table;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : table)
    if (option.name == name || option.has_alias(name)) return &option;
  return nullptr;
}

std::string in_flags(std::string_view text) {
  return name_fields(text, [](std::string_view name) {
    return find_option(name) == nullptr ? fmt::format("`{}`", name) : fmt::format("--{}", name);
  });
}

void assign(const std::vector<Assignment>& assignments, Inputs& inputs, Problems& problems) {
  for (const Assignment& assignment : assignments) {
    inputs.where[std::string{assignment.option->name}] = assignment.where;
    if (auto wrong = assignment.option->set(inputs, assignment.value))
      problems.add(assignment.where, std::move(wrong->what), std::move(wrong->hint));
  }
}

} // namespace ppsim::cli
