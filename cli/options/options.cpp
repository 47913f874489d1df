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

/// More threads than any machine runs at once, and more points than any plot shows.
constexpr std::size_t most_threads = 4096, most_points = 10'000;

/// Times of more steps than this would fill the memory, and sums over them have to stay in range.
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
/// More than anybody reads.
constexpr std::size_t most_rows = 10'000;

/// More rounds than any search is given, and more seeds than anybody tries.
constexpr std::size_t most_effort = 1'000'000'000;

constexpr std::array table{
    Option{"stages", "pp", S::pipeline, A::required, "P", count<&I::stages, Limits::stages>,
           "pipeline stages: devices, ranks", "schedule-file"},
    Option{"mb", "microbatches", S::pipeline, A::required, "M", count<&I::microbatches, Limits::tasks>,
           "microbatches per step", "schedule-file"},
    Option{"vpp", "virtual-stages", S::pipeline, A::required, "V", counts<&I::vpp, Limits::chunks>,
           "chunks per stage (virtual stages); default 1; compare takes a list, for schedules that can choose, default "
           "2,4 or what divides the layers",
           "schedule-file"},
    Option{"schedule", "", S::pipeline, A::required, "NAME", set_schedule,
           "a schedule by name, see 'ppsim list schedules'; default 1f1b, with --vpp above 1 interleaved",
           "schedule-file,SCHEDULE-OPTIONS"},
    Option{"schedules", "", S::comparison, A::required, "NAME[,...]", set_schedules,
           "the schedules to compare, see 'ppsim list schedules'; default all", "SCHEDULE-OPTIONS"},
    Option{"schedule-file", "", S::pipeline, A::required, "FILE", set_text<&I::schedule_file>,
           "the order from a PyTorch pipelining CSV, or an InfiniTrain task list (*.tasks.csv); it sets P, M and V",
           "schedule,stages,mb,vpp,SCHEDULE-OPTIONS"},
    Option{"overlap-moe-expert-parallel-comm", "", S::pipeline, A::none, "", set_flag<&I::overlap_expert_exchange>,
           "interleaved: in the steady state each forward runs together with a backward, behind whose computing its "
           "all-to-alls of experts hide (--pair hide), after one forward more"},
    Option{"group-size", "microbatch-group-size", S::pipeline, A::required, "G", count<&I::group_size, Limits::tasks>,
           "interleaved: microbatches per group of one chunk; default P"},
    Option{"gpipe-backward", "", S::pipeline, A::required, "ORDER", choice<&I::descending_backward, backward_orders>,
           "gpipe: ascending (default) or descending, as the paper draws it"},
    Option{"activation-limit", "", S::pipeline, A::required, "N", count<&I::activation_limit, Limits::tasks>,
           "zb-auto, v-auto, synthesize: activations (of a chunk and a microbatch) that a stage may hold; default P, "
           "for v-auto 2P; of the schedules --memory-limit with --activation-bytes takes its place"},
    Option{"replicas", "", S::pipeline, A::required, "N[,...]", counts<&I::replicas, Limits::stages>,
           "pipedream: stages that share each position of the pipeline and take its microbatches in turn; costs and "
           "memory are then per position; default 1 each"},
    Option{"layers", "", S::pipeline, A::required, "N", count<&I::layers, longest_layout>,
           "layers of the model, split evenly over the chunks, the first ones taking a remainder; costs and memory "
           "follow, one value being the mean stage",
           "layout"},
    Option{"first-stage-layers", "decoder-first-pipeline-num-layers", S::pipeline, A::required, "N",
           count<&I::first_stage_layers, longest_layout>, "layers on the first stage; the rest evenly over the others",
           "layout"},
    Option{"last-stage-layers", "decoder-last-pipeline-num-layers", S::pipeline, A::required, "N",
           count<&I::last_stage_layers, longest_layout>, "layers on the last stage; the rest evenly over the others",
           "layout"},
    Option{"layout", "pipeline-model-parallel-layout", S::pipeline, A::required, "STRING", set_layout,
           "what each chunk holds, as Megatron-LM writes it: E embedding, t layer, m layer for multi-token prediction, "
           "L loss, | between chunks, x*n and (...)*n: 'Et*10|(t*11|)*2,t*9L'; it sets V",
           "layers,first-stage-layers,last-stage-layers,vpp"},
    Option{"balance", "", S::pipeline, A::none, "", set_flag<&I::balance>,
           "search the split of --layers, or of a --layout, with the shortest step that fits into memory"},
    Option{"forward-only", "", S::pipeline, A::none, "", set_flag<&I::forward_only>,
           "the forwards of the schedule alone, as in inference; a schedule file may then hold nothing else"},

    Option{
        "model", "", S::model, A::required, "NAME|FILE", set_text<&I::model>,
        "costs from a model's shape: a shipped one ('ppsim list models') or a TOML file; what is given besides wins"},
    Option{"device", "", S::model, A::required, "NAME|FILE", set_text<&I::device>,
           "the device's datasheet: a shipped one ('ppsim list devices') or a TOML file; also sets --memory-limit"},
    Option{"flops", "", S::model, A::required, "N", set_unit<&I::flops>,
           "without --model: floating-point operations of a microbatch in the whole model, forward and backward (with "
           "--forward-only the forward): 1.2PFLOP, 1.2e15; for MFU (with --device) and the like"},
    Option{"efficiency", "", S::model, A::required, "SHARE", set_efficiency,
           "share of the datasheet's rates that all operations reach; default what each kind of them does "
           "(docs/costs.md)"},
    Option{"measured-step", "", S::model, A::required, "TIME[,mb=N,vpp=N,schedule=NAME]", set_measured_step,
           "a step that was measured, of this run or of one with other microbatches, chunks or schedule: what is "
           "computed takes "
           "as much more or less as explains it",
           "efficiency"},
    Option{"microbatch-size", "micro-batch-size", S::model, A::required, "N",
           count<&Training::microbatch_size, ModelLimits::ranks>, "samples in a microbatch; default 1"},
    Option{"sequence-length", "seq-length", S::model, A::required, "N",
           count<&Training::sequence_length, ModelLimits::tokens>, "tokens of a sample; default the model's"},
    Option{"tensor-parallel", "tensor-model-parallel-size,tp", S::model, A::required, "N",
           count<&Training::tensor_parallel, ModelLimits::ranks>,
           "devices over which each layer is split; a stage is then as many devices; default 1"},
    Option{"sequence-parallel", "", S::model, A::required, "SWITCH", choice<&Training::sequence_parallel, switches>,
           "whether tensor parallelism splits norms along the sequence too: on (default) or off"},
    Option{"context-parallel", "context-parallel-size,cp", S::model, A::required, "N",
           count<&Training::context_parallel, ModelLimits::ranks>,
           "devices over which the sequence is split; default 1"},
    Option{"cp-comm-type", "", S::model, A::required, "KIND", choice<&Training::context_exchange, context_exchanges>,
           "how the ranks of --context-parallel come by keys and values: p2p (default) around a ring beside the "
           "attention, "
           "all_gather before it, a2a for heads"},
    Option{"expert-parallel", "expert-model-parallel-size,ep", S::model, A::required, "N",
           count<&Training::expert_parallel, ModelLimits::ranks>, "devices over which experts are spread; default 1"},
    Option{"expert-tensor-parallel", "expert-tensor-parallel-size", S::model, A::required, "N",
           count<&Training::expert_tensor_parallel, ModelLimits::ranks>,
           "devices over which each expert is split; default --tensor-parallel, or 1 where --expert-parallel leaves no "
           "room for that"},
    Option{"moe-token-dispatcher", "moe-token-dispatcher-type", S::model, A::required, "KIND",
           choice<&Training::token_dispatcher, token_dispatchers>,
           "how tokens get to experts: flex (default) sends each to a node once, alltoall to each of its experts"},
    Option{"moe-dispatch-data-type", "", S::model, A::required, "TYPE",
           choice<&Training::dispatch_data_type, dispatch_data_types>,
           "in which tokens are sent to experts, bf16 (default) or fp8; their results come back in bf16"},
    Option{"gpus-per-node", "", S::model, A::required, "N", count<&Training::gpus_per_node, ModelLimits::ranks>,
           "devices that the device's own link joins, for experts and context parallelism; default 8"},
    Option{"data-parallel", "dp", S::model, A::required, "N", count<&Training::data_parallel, ModelLimits::ranks>,
           "copies of the pipeline that share a batch; gradients are reduced over them; default 1"},
    Option{"distributed-optimizer", "", S::model, A::required, "SWITCH",
           choice<&Training::distributed_optimizer, switches>,
           "whether optimizer state is divided over data-parallel ranks (ZeRO 1): on (default) or off"},
    Option{"zero-stage", "", S::model, A::required, "N", choice<&Training::zero_stage, zero_stages>,
           "what is divided over data-parallel ranks: 1 (default) the optimizer's state, 2 gradients too, 3 parameters "
           "too "
           "(FSDP)"},
    Option{"overlap-param-gather", "", S::model, A::required, "SWITCH",
           choice<&Training::overlap_param_gather, switches>,
           "whether a distributed optimizer's parameters are gathered behind the next step's forwards: on (default) "
           "or off"},
    Option{
        "async-tensor-model-parallel-allreduce", "", S::model, A::required, "SWITCH",
        choice<&Training::async_tensor_collective, switches>,
        "whether the input gradient's tensor-parallel collective runs beside the weight gradient: on (default) or off"},
    Option{"data-type", "", S::model, A::required, "TYPE", choice<&Training::data_type, data_types>,
           "of matrix products; default bf16"},
    Option{"attention", "", S::model, A::required, "KIND", choice<&Training::attention, attentions>,
           "flash keeps no scores, unfused keeps them; default the model's"},
    Option{"gradient-bytes-per-parameter", "", S::model, A::required, "N",
           count<&Training::gradient_bytes, ModelLimits::gradient_bytes>, "default 4 (fp32)"},
    Option{"optimizer-bytes-per-parameter", "", S::model, A::required, "N",
           count<&Training::optimizer_bytes, ModelLimits::optimizer_bytes, 0>,
           "default 12 (Adam: two moments and a master copy), with fp32 and tf32 8"},
    Option{"tensor-link", "", S::model, A::required, "NAME|FILE[,...]",
           set_measured_link<&Training::tensor_link, &I::tensor_link_files>,
           "link of tensor parallelism ('ppsim list links'), or what nccl-tests measured over it: files of "
           "all_gather_perf, reduce_scatter_perf, all_reduce_perf; default the device's"},
    Option{"expert-link", "", S::model, A::required, "NAME|FILE[,...]",
           set_measured_link<&Training::expert_link, &I::expert_link_files>,
           "likewise of expert parallelism (alltoall_perf); default the device's within a node, ib-ndr between nodes"},
    Option{
        "context-link", "", S::model, A::required, "NAME|FILE[,...]",
        set_measured_link<&Training::context_link, &I::context_link_files>,
        "likewise of context parallelism (all_gather_perf, reduce_scatter_perf, alltoall_perf); default the device's "
        "where its ranks fit a node, else ib-ndr"},
    Option{"data-link", "", S::model, A::required, "NAME|FILE[,...]",
           set_measured_link<&Training::data_link, &I::data_link_files>,
           "likewise of data parallelism (reduce_scatter_perf, all_gather_perf, all_reduce_perf); default ib-ndr"},

    Option{"forward", "", S::costs, A::required, "TIME[,...]", set_list<&I::forward>,
           "forward of a whole stage and microbatch, or one value per chunk (P*V values), or per chunk and microbatch "
           "(P*V*M, chunk by chunk); default 1ms"},
    Option{"backward", "", S::costs, A::required, "TIME[,...]", set_list<&I::backward>,
           "full backward likewise; split in half where only it is given; default 2ms", "input-grad,weight-grad"},
    Option{"input-grad", "", S::costs, A::required, "TIME[,...]", set_list<&I::input_grad>,
           "input-gradient half of the backward", "backward"},
    Option{"weight-grad", "", S::costs, A::required, "TIME[,...]", set_list<&I::weight_grad>,
           "weight-gradient half of the backward", "backward"},
    Option{"overhead", "", S::costs, A::required, "TIME", set_unit<&I::overhead>,
           "added to every task: kernel launch, Python; default 0ns"},
    Option{
        "slow", "", S::costs, A::required, "[C:]S=FACTOR[,...]", set_slow,
        "the device of stage S takes so many times as long for what it computes, of each chunk that it holds; a "
        "FACTOR alone: each stage that is not named; C:S=FACTOR: in copy C of --data-parallel alone, counted from 0"},
    Option{"pair",
           "",
           S::costs,
           A::required,
           "RULE",
           {set_pair, words_of<pair_rules>},
           "how long an overlapped pair F&B lasts: sum (default), max, serial, hide, or a factor of the sum"},
    Option{"forward-collective", "", S::costs, A::required, "TIME[,...]", set_list<&I::forward_collective>,
           "part of the forward that is communication (tensor parallel, all-to-all); --pair hide overlaps it"},
    Option{"backward-collective", "", S::costs, A::required, "TIME[,...]", set_list<&I::backward_collective>,
           "likewise, part of the input-gradient half of the backward"},
    Option{"embedding", "", S::costs, A::required, "FORWARD[,BACKWARD]", set_list<&I::embedding>,
           "time that the embedding adds to the first chunk; the backward, all of it weight gradient, is by default as "
           "long"},
    Option{"head", "", S::costs, A::required, "FORWARD[,BACKWARD]", set_list<&I::head>,
           "time that output layer and loss add to the last chunk; the backward, half of it weight gradient, is by "
           "default twice as long"},
    Option{"recompute", "", S::costs, A::required, "KIND", choice<&I::recompute, recomputations>,
           "activations that a backward computes again: none (default); selective: some, see --recompute-time and "
           "--checkpoint-bytes; full: all but the input of a chunk",
           "recompute-time,checkpoint-bytes,microbatches-without-recompute"},
    Option{"recompute-time", "", S::costs, A::required, "TIME[,...]", set_list<&I::recompute_time>,
           "by how much that makes the backward longer; with --recompute full by default the forward"},
    Option{"recompute-method", "", S::costs, A::required, "METHOD", choice<&I::recompute_method, recompute_methods>,
           "which layers --recompute full takes: uniform (default): all, in units of --recompute-num-layers, each of "
           "which "
           "keeps its input; block: the first so many of each chunk"},
    Option{"recompute-num-layers", "", S::costs, A::required, "N", count<&I::recompute_num_layers, ModelLimits::layers>,
           "layers of a unit, or of a chunk; default 1"},
    Option{"recompute-modules", "", S::model, A::required, "NAME[,...]", set_recompute_modules,
           "what --recompute selective drops: core_attn (default), layernorm, mla_up_proj, mlp_act, moe_act"},
    Option{"microbatches-without-recompute", "", S::costs, A::required, "N",
           count<&I::microbatches_without_recompute, Limits::tasks, 0>,
           "of every W+1 forwards of a stage with W warm-up forwards, the first N are not recomputed; default 0"},
    Option{"reduce", "", S::costs, A::required, "TIME[,...]", set_list<&I::reduce>,
           "data-parallel reduction of a stage's gradients, or one value per chunk; beside the tasks"},
    Option{"tied-embedding-reduce", "", S::costs, A::required, "TIME", set_unit<&I::tied_embedding_reduce>,
           "reduction of the embedding that the first and the last chunk share"},
    Option{"optimizer", "", S::costs, A::required, "TIME[,...]", set_list<&I::optimizer>,
           "optimizer step of a stage, or one value per chunk"},
    Option{"overlap-grad-reduce", "", S::costs, A::required, "SWITCH", choice<&I::overlap_grad_reduce, switches>,
           "whether a chunk's gradients are reduced beside its stage's other tasks: on, or off: when all of them are "
           "done; default on, with --model and without --distributed-optimizer off"},
    Option{"optimizer-step", "", S::costs, A::required, "WHEN", choice<&I::optimizer_step, optimizer_steps>,
           "synchronous (default): all stages together; per-stage: each when its own gradients are there"},

    Option{"comm", "", S::communication, A::required, "TIME[,...]", set_list<&I::comm>,
           "time of a transfer between stages, or one per boundary between chunks (P*V-1 values); default 0ns",
           "latency,bandwidth,link"},
    Option{"latency", "", S::communication, A::required, "TIME[,...]", set_list<&I::latency>,
           "fixed part of a transfer's time, with --bandwidth for the rest", "comm,link"},
    Option{"bandwidth", "", S::communication, A::required, "RATE", set_unit<&I::bandwidth>,
           "bandwidth of a link: 50GB/s, 400Gbit/s", "comm,link"},
    Option{"link", "", S::communication, A::required, "NAME", set_link<&I::link>,
           "latency and bandwidth between stages from a datasheet ('ppsim list links'; nvlink is the device's); with "
           "--model by default ib-ndr",
           "comm,latency,bandwidth"},
    Option{"boundary-bytes", "", S::communication, A::required, "SIZE[,...]", set_list<&I::boundary_bytes>,
           "size of a transfer, or one per boundary between chunks"},
    Option{"transfer", "", S::communication, A::required, "MODEL", choice<&I::transfer, transfer_models>,
           "latency (default): no contention; link: one transfer at a time per link; blocking: stages wait for their "
           "sends and receives; streams: sends and receives in order on communicators, as NCCL runs them"},
    Option{"lowering", "", S::communication, A::required, "NAME", set_lowering,
           "who places sends and receives, with --transfer streams and --csv-comms ('ppsim list lowerings'); default "
           "edge, our runtime; of a file with such cells the file"},
    Option{"overlap-p2p", "", S::communication, A::optional, "PASSES", set_overlap_p2p,
           "with --lowering megatron and several chunks per stage: the passes that its sends and receives run beside: "
           "steady (default), those of 1F1B (overlap_p2p_comm); all, those of warm-up and cool-down too "
           "(overlap_p2p_comm_warmup_flush); none (batch_p2p_comm), the default with --p2p batched"},
    Option{"pytorch-version", "", S::communication, A::required, "VERSION",
           choice<&I::pytorch_reduces, pytorch_versions>,
           "the PyTorch that --csv-comms is for, and whose order --lowering pytorch is: 2.14 (default), or 2.6 where "
           "it is older than 2.10 and knows no REDUCE_GRAD"},
    Option{"p2p", "", S::communication, A::required, "HOW", choice<&I::p2p, p2p_kinds>,
           "what sends and receives share: edge, a communicator per directed edge; pair, one per pair of stages, as "
           "PyTorch's isend and irecv on a group without device_id; direction, two for all, of activations and of "
           "gradients, as PyTorch's pipeline_per_direction_p2p; group, one for all, as batch_isend_irecv; batched, the "
           "same with the sends of a task and the receives of the next as a group, as Megatron-LM. A simulation "
           "(--transfer streams) takes by default what its lowering is meant for, a replay edge"},
    Option{"eager-below", "", S::communication, A::required, "SIZE", set_unit<&I::eager_below>,
           "with --transfer streams: sends of fewer bytes do not wait for their receive; default 0B"},
    Option{"comm-slowdown", "", S::communication, A::required, "FACTOR", set_comm_slowdown,
           "with --transfer streams: compute takes so many times as long while a transfer runs on its stage, which "
           "takes multiprocessors; default 1"},
    Option{"slow-link", "", S::communication, A::required, "S=FACTOR[,...]", set_slow_link,
           "transfers between stages S and S+1, both ways, take so many times as long; A-B=FACTOR: between A and B"},
    Option{"send-slices", "", S::communication, A::required, "N", count<&I::send_slices, Limits::slices>,
           "equal parts in which a task's output leaves, each when that share of the task is done; default 1"},
    Option{"stages-per-node", "", S::communication, A::required, "N", count<&I::stages_per_node, Limits::stages>,
           "consecutive stages that share a node; with --transfer link they share its one uplink"},
    Option{"inter-node-link", "", S::communication, A::required, "NAME", set_link<&I::inter_node_link>,
           "likewise between nodes", "inter-node-latency,inter-node-bandwidth"},
    Option{"inter-node-latency", "", S::communication, A::required, "TIME", set_unit<&I::inter_node_latency>,
           "fixed part of a transfer between nodes; default as within one"},
    Option{"inter-node-bandwidth", "", S::communication, A::required, "RATE", set_unit<&I::inter_node_bandwidth>,
           "bandwidth between nodes; default as within one"},

    Option{"activation-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::activation_bytes>,
           "activations of a whole stage and one microbatch, or one value per chunk"},
    Option{"weight-activation-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::weight_activation_bytes>,
           "the part of them that W needs, kept to its end; the rest goes at the end of I; default all"},
    Option{"checkpoint-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::checkpoint_bytes>,
           "the part of them that a forward keeps where it is recomputed; with --recompute full by default the input "
           "of a chunk (--boundary-bytes)"},
    Option{"release-outputs", "", S::memory, A::none, "", set_flag<&I::release_outputs>,
           "give up the output of a chunk (--boundary-bytes, a part of its activation) once it is sent"},
    Option{"parameter-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::parameter_bytes>,
           "parameters of a stage, or one value per chunk"},
    Option{"gradient-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::gradient_bytes>,
           "gradients likewise"},
    Option{"optimizer-bytes", "", S::memory, A::required, "SIZE[,...]", set_list<&I::optimizer_bytes>,
           "optimizer state likewise"},
    Option{"memory-limit", "", S::memory, A::required, "SIZE", set_unit<&I::memory_limit>,
           "what a device holds; exit status 3 when a stage needs more"},

    Option{"scenario", "", S::scenario, A::required, "FILE", set_text<&I::scenario>,
           "read options from a TOML file; its keys are these flags without dashes, flags win over it"},
    Option{"title", "", S::scenario, A::required, "TEXT", set_text<&I::title>,
           "a name for the run, shown in report and chart"},
    Option{"source", "", S::scenario, A::required, "TEXT", set_text<&I::source>,
           "where the costs come from, shown in report and chart"},

    Option{"backend",
           "",
           S::workload,
           A::required,
           "NAME",
           {set_backend, backend_names},
           "what a replay runs on, see 'ppsim list backends'; default threads"},
    Option{"compute", "", S::workload, A::required, "HOW", choice<&I::compute, compute_kinds>,
           "real (default): tasks compute a model of the sizes below; timed: they last as the costs say, and compute "
           "next to nothing"},
    Option{"transport", "", S::workload, A::required, "HOW", choice<&I::transport, transports>,
           "how outputs move: direct, at the machine's pace; paced, each as long as the scenario says, an emulated "
           "link; nccl-self, by NCCL on one GPU; default direct, with --compute timed and transfers that take time "
           "paced, where the backend can"},
    Option{"slots", "", S::workload, A::required, "N", count<&I::slots, Limits::tasks>,
           "outputs that can have arrived over an edge and not be used yet; default what the prediction needs and one "
           "more"},
    Option{"block", "", S::workload, A::required, "KIND", choice<&runtime::Workload::block, blocks>,
           "a layer: mlp (default), or transformer with attention"},
    Option{"tokens", "", S::workload, A::required, "N", count<&runtime::Workload::tokens, runtime::most_rows>,
           "rows of an activation; default 256 (scale: as measured)"},
    Option{"width", "", S::workload, A::required, "N", count<&runtime::Workload::width, runtime::most_rows>,
           "columns of an activation; default 256 (scale: as measured)"},
    Option{"heads", "", S::workload, A::required, "N", count<&runtime::Workload::heads, runtime::most_rows>,
           "of a transformer's attention; divides the width; default 4 (scale: as measured)"},
    Option{"layers-per-chunk", "", S::workload, A::required, "N",
           count<&runtime::Workload::layers, runtime::most_layers>,
           "layers that each chunk computes; default 1 (scale: as measured)"},
    Option{"seed", "", S::workload, A::required, "N", Setter{set_seed, std::numeric_limits<std::uint32_t>::max()},
           "of parameters, inputs and targets; of what synthesize, --jitter and --jitter-from draw; default 1"},
    Option{"trainer", "", S::workload, A::required, "KIND", choice<&runtime::Workload::optimizer, trainers>,
           "the optimizer that a replay runs: sgd (default), or adam", "learning-rate"},
    Option{"learning-rate", "", S::workload, A::required, "X", set_learning_rate,
           "its step size; default 0.05, of adam 0.002, and less for more than 16 layers"},

    Option{"warmup", "", S::replay, A::required, "N", count<&I::warmup, most_steps, 0>,
           "steps before the first that counts; default 2"},
    Option{"steps", "", S::replay, A::required, "N", count<&I::steps, most_steps>, "steps that count; default 5"},
    Option{"timeout", "", S::replay, A::required, "TIME", set_timeout,
           "give up when nothing has gone on for so long; default ten seconds and ten predicted steps, without costs a "
           "minute and more for large work"},
    Option{"inject", "", S::replay, A::required, "FAULT", set_fault,
           "make the run fail on purpose in its second step, to see how it ends: fail@1F3 (the task throws), stall@0B2 "
           "(never ends), no-memory@1F0, lose@0F2 (its output is never sent), resize@0F1 (it has another size)"},
    Option{"output", "", S::replay, A::required, "FILE", set_text<&I::output>,
           "what is made: a scenario (calibrate, scale, import), a run (replay), packed where FILE ends in .gz; also "
           "-o FILE"},
    Option{"timeline", "", S::replay, A::required, "FILE", set_text<&I::timeline>,
           "a run: that 'ppsim replay -o FILE' wrote (validate); where to write it (import)"},
    Option{"published", "", S::replay, A::required, "FILE", set_text<&I::published>,
           "a table of runs that others have published: their step times, and the options that simulate them "
           "(docs/formats.md)"},
    Option{"rows", "", S::replay, A::none, "", set_flag<&I::rows>, "with --published: list every run"},
    Option{"replica", "", S::replay, A::required, "N", count<&I::replica, ModelLimits::ranks, 0>,
           "of several data-parallel replicas, the one to take; default 0, for the pictures of explain the slowest"},
    Option{
        "calibrate", "", S::replay, A::required, "SHARE", set_calibrate,
        "of the steps of a run, the first ones, which are to predict the others: 25%, 0.25; default 25% where it is by "
        "means, 50% where it is by draws"},
    Option{"by-microbatch", "", S::replay, A::none, "", set_flag<&I::by_microbatch>,
           "costs per chunk and microbatch, for microbatches that differ in length"},
    Option{"mean-stage", "", S::replay, A::none, "", set_flag<&I::mean_stage>,
           "costs of the mean stage, and of the ends as --embedding and --head: for any number of chunks"},
    Option{"tolerance", "", S::replay, A::required, "SHARE", set_tolerance,
           "how far the predicted step time may be off: 5% (default; with --published none), 0.05; beyond it the exit "
           "status is 3"},

    Option{
        "vary", "", S::comparison, A::required, "NAME=FROM..TO", set_vary,
        "where the best changes while any option that takes a number runs over a range, comm=0..2ms, or over values: "
        "mb=8..256:x2, tensor-parallel=1,2,4; sweep: "
        "the values of any option, as often as needed: mb=8..256:x2, comm=0..2ms:+500us, schedule=1f1b,zb-v or all"},
    Option{"table", "", S::comparison, A::required, "FILE", set_text<&I::table>,
           "the rows as CSV (FILE.csv) or as JSON lines (FILE.jsonl); default CSV to stdout"},
    Option{"resume", "", S::comparison, A::none, "", set_flag<&I::resume>,
           "go on with the --table of a sweep that was ended; without it, it is made anew"},
    Option{"points", "", S::comparison, A::required, "N", count<&I::points, most_points, 2>,
           "with --vary: values to simulate; default 100, of counts up to 256"},
    Option{"precision", "", S::comparison, A::required, "AMOUNT", set_text<&I::precision>,
           "with --vary: how far apart tried values are at least, from the first on: 1us; 8 for each eighth; default "
           "about a ten-thousandth of the range, 1 of what is counted"},
    Option{"rank-by",
           "",
           S::comparison,
           A::required,
           "FIGURE",
           {set_rank_by, words_of<rank_figures>},
           "the figure of a step by which schedules are ranked, and one of them recommended: step-time (default); with "
           "--jitter also mean (the default with --vary), p50, p95 or p99; of a plan also memory"},
    Option{"jitter-svg", "", S::comparison, A::required, "FILE", set_text<&I::jitter_svg>,
           "compare with --jitter or --jitter-from: how often steps take how long, schedule by schedule, as a plot"},
    Option{"threads", "", S::comparison, A::required, "N", count<&I::threads, most_threads>,
           "simulate so many schedules, published runs, or rows of a sweep at once; default as many as the machine has "
           "processors, of a sweep by several processes one each"},
    Option{"markdown", "", S::comparison, A::optional, "FILE", set_text<&I::markdown>,
           "the comparison as a GitHub table; without FILE or with '-' to stdout, instead of the table"},

    Option{"placement", "", S::synthesis, A::required, "NAME[,...]", set_placements,
           "where chunks are: linear (default, one per stage), v (two, in a V), loop:N (N, in a loop); or several, or "
           "all: linear, v, loop:2 and loop:4"},
    Option{"no-split", "", S::synthesis, A::none, "", set_flag<&I::no_split>,
           "backwards in one piece, not as input and weight gradients"},
    Option{"objective", "", S::synthesis, A::required, "WHAT", choice<&I::objective, objectives>,
           "what is to be short: makespan (default), or step-time, which is another with --optimizer-step per-stage: "
           "stages do not meet between steps, and their spans count"},
    Option{"effort", "", S::synthesis, A::required, "N", count<&I::effort, most_effort, 0>,
           "rounds of search behind the first orders; default 3. The result depends on it and on --seed alone"},
    Option{"time", "", S::synthesis, A::required, "TIME", set_unit<&I::search_time>,
           "search for so long instead, for each placement: 10s. The result may differ from run to run"},
    Option{"gap", "", S::synthesis, A::required, "SHARE", set_gap,
           "end where the order takes at most so much more than what is proven to be needed: 1%; default 0"},

    Option{"certificate", "", S::synthesis, A::required, "FILE", set_text<&I::certificate>,
           "the order, the bound and its proof, for 'ppsim certify' and other checkers (docs/synthesis.md)"},

    Option{"progress-svg", "", S::synthesis, A::required, "FILE", set_text<&I::progress_svg>,
           "how the best order and the bound came together, over the steps of the search, as a plot"},

    Option{"gpus", "", S::planning, A::required, "N", count<&I::gpus, ModelLimits::ranks>, "devices of the cluster"},
    Option{"global-batch", "global-batch-size", S::planning, A::required, "N", count<&I::global_batch, Limits::tasks>,
           "samples in a step, over all data-parallel copies"},
    Option{
        "fixed", "", S::planning, A::required, "NAME=VALUE[/VALUE...][,...]", set_fixed,
        "what may be chosen of tp, cp, ep, dp, pp, mbs (microbatch-size), vpp, schedule, recompute, zero (zero-stage; "
        "0: without a distributed optimizer) and sp (sequence-parallel): tp=4/8,recompute=none"},
    Option{"for", "", S::planning, A::required, "FRAMEWORK", choice<&I::framework, frameworks>,
           "only what it runs: any (default), megatron, torchtitan or deepspeed"},
    Option{"top", "", S::output, A::required, "N", count<&I::top, most_rows>, "so many are ranked; default 20"},
    Option{"json", "", S::output, A::optional, "FILE", set_text<&I::json>,
           "the report or comparison as JSON (schema 1); without FILE or with '-' to stdout, instead of the report"},
    Option{"svg", "", S::output, A::required, "FILE", set_text<&I::svg>,
           "a Gantt chart; of a comparison, those of the fastest on one time axis"},
    Option{
        "svg-memory", "", S::output, A::none, "", set_flag<&I::svg_memory>,
        "with --svg: below the chart what each stage holds over time, with --memory-limit as a line and what exceeds "
        "it marked; without sizes it counts live activations"},
    Option{"trace", "", S::output, A::required, "FILE", set_text<&I::trace>, "Chrome trace events, for Perfetto"},
    Option{"csv", "", S::output, A::required, "FILE", set_text<&I::csv>,
           "the order as PyTorch pipelining CSV, or as InfiniTrain task list when FILE ends in .tasks.csv"},
    Option{"csv-comms", "", S::output, A::required, "FILE", set_text<&I::csv_comms>,
           "the same CSV with send and receive cells: those that --transfer streams simulates, of the file, of "
           "--lowering, else placed as PyTorch does"},
    Option{"chakra", "", S::output, A::required, "PREFIX", set_text<&I::chakra>,
           "MLCommons Chakra execution traces for ASTRA-sim, one file per stage: PREFIX.0.et and so on"},
    Option{"goal", "", S::output, A::required, "FILE", set_text<&I::goal>, "GOAL text for LogGOPSim"},
    Option{"tasks", "", S::output, A::none, "", set_flag<&I::tasks>,
           "list every task with its step and times, in the report or in the JSON"},
    Option{"sensitivity", "", S::output, A::none, "", set_flag<&I::sensitivity>,
           "what 1 % faster compute on each stage, links twice as fast, more microbatches and more chunks would give; "
           "with --jitter and --jitter-from also how much of p95 is by the jitter of each stage"},
    Option{"bound", "", S::output, A::none, "", set_flag<&I::bound>,
           "prove how far above the best order a schedule is at most: of those of its placement, with backwards whole "
           "or split as it has them, within --memory-limit, else within what it holds itself"},
    Option{
        "jitter", "", S::output, A::required, "SHARE", set_jitter,
        "tasks vary by chance around their times, by so much (standard deviation; log-normal): what a step then takes "
        "on average and at most in 50, 95 and 99 % of all cases; of --data-parallel copies the slowest"},
    Option{"jitter-from", "", S::output, A::required, "RUN.json", set_text<&I::jitter_from>,
           "the same with what varied in a measured run: tasks by stage and pass, and what those of a step, of a stage "
           "in it "
           "and of a microbatch had in common; of as many stages, and several steps"},
    Option{"samples", "", S::output, A::required, "N", count<&I::samples, JitterLimits::samples>,
           "with --jitter and --jitter-from: how many steps are simulated; default 1000"},
    Option{"fail-if", "", S::output, A::required, "CONDITION", add_fail_if,
           "exit with status 3 if it holds: 'bubble_ratio > 0.1'; of a comparison, for the schedule to take"},
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
