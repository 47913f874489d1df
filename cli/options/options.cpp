#include "options.hpp"

#include "ppsim/base/words.hpp"
#include "ppsim/scenario/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "replay_setters.hpp"
#include "setters.hpp"

namespace ppsim::cli {
namespace {

using S = Section;
using A = Argument;
using I = Inputs;

/// More threads than any machine runs at once, and more points than any plot shows.
constexpr std::size_t most_threads = 4096, most_points = 10'000;

constexpr std::array table{
    Option{"stages", "pp", S::pipeline, A::required, "P", "pipeline stages: devices, ranks", "", "schedule-file",
           count<&I::stages, Limits::stages>},
    Option{"mb", "microbatches", S::pipeline, A::required, "M", "microbatches per step", "", "schedule-file",
           count<&I::microbatches, Limits::tasks>},
    Option{"vpp", "virtual-stages", S::pipeline, A::required, "V",
           "chunks per stage (virtual stages); default 1; compare takes a list, for schedules that can choose, default "
           "2,4 or what divides the layers",
           "", "schedule-file", counts<&I::vpp, Limits::chunks>},
    Option{"schedule", "", S::pipeline, A::required, "NAME",
           "a schedule by name, see 'ppsim list schedules'; default 1f1b, with --vpp above 1 interleaved", "",
           "schedule-file,SCHEDULE-OPTIONS", set_schedule},
    Option{"schedules", "", S::comparison, A::required, "NAME[,...]",
           "the schedules to compare, see 'ppsim list schedules'; default all", "", "SCHEDULE-OPTIONS", set_schedules},
    Option{"schedule-file", "", S::pipeline, A::required, "FILE",
           "the order from a PyTorch pipelining CSV, or an InfiniTrain task list (*.tasks.csv); it sets P, M and V", "",
           "schedule,stages,mb,vpp,SCHEDULE-OPTIONS", set_text<&I::schedule_file>},
    Option{"group-size", "microbatch-group-size", S::pipeline, A::required, "G",
           "interleaved: microbatches per group of one chunk; default P", "", "", count<&I::group_size, Limits::tasks>},
    Option{"gpipe-backward", "", S::pipeline, A::required, "ORDER",
           "gpipe: ascending (default) or descending, as the paper draws it", "ascending,descending", "",
           set_backward_order},
    Option{
        "activation-limit", "", S::pipeline, A::required, "N",
        "zb-auto, v-auto: activations (of a chunk and a microbatch) that a stage may hold; default P, for v-auto 2P; "
        "--memory-limit with --activation-bytes takes its place",
        "", "", count<&I::activation_limit, Limits::tasks>},
    Option{"replicas", "", S::pipeline, A::required, "N[,...]",
           "pipedream: stages that share each position of the pipeline and take its microbatches in turn; costs and "
           "memory are then per position; default 1 each",
           "", "", counts<&I::replicas, Limits::stages>},
    Option{"layers", "", S::pipeline, A::required, "N",
           "layers of the model, split evenly over the chunks, the first ones taking a remainder; costs and memory "
           "follow, one value being "
           "the mean stage",
           "", "layout", count<&I::layers, longest_layout>},
    Option{"first-stage-layers", "decoder-first-pipeline-num-layers", S::pipeline, A::required, "N",
           "layers on the first stage; the rest evenly over the others", "", "layout",
           count<&I::first_stage_layers, longest_layout>},
    Option{"last-stage-layers", "decoder-last-pipeline-num-layers", S::pipeline, A::required, "N",
           "layers on the last stage; the rest evenly over the others", "", "layout",
           count<&I::last_stage_layers, longest_layout>},
    Option{"layout", "pipeline-model-parallel-layout", S::pipeline, A::required, "STRING",
           "what each chunk holds, as Megatron-LM writes it: E embedding, t layer, m layer for multi-token prediction, "
           "L loss, | between chunks, x*n and (...)*n: 'Et*10|(t*11|)*2,t*9L'; it sets V",
           "", "layers,first-stage-layers,last-stage-layers,vpp", set_layout},
    Option{"balance", "", S::pipeline, A::none, "",
           "search the split of --layers, or of a --layout, with the shortest step that fits into --memory-limit", "",
           "", set_flag<&I::balance>},
    Option{"forward-only", "", S::pipeline, A::none, "",
           "the forwards of the schedule alone, as in inference; a schedule file may then hold nothing else", "", "",
           set_flag<&I::forward_only>},

    Option{"model", "", S::model, A::required, "NAME|FILE",
           "costs from a model's shape: a shipped one ('ppsim list models') or a TOML file; what is given besides wins",
           "", "", set_text<&I::model>},
    Option{"device", "", S::model, A::required, "NAME|FILE",
           "the device's datasheet: a shipped one ('ppsim list devices') or a TOML file; also sets --memory-limit", "",
           "", set_text<&I::device>},
    Option{"efficiency", "", S::model, A::required, "SHARE",
           "share of the datasheet's rates that is reached; default 0.7", "", "", set_efficiency},
    Option{"microbatch-size", "micro-batch-size", S::model, A::required, "N", "samples in a microbatch; default 1", "",
           "", count<&Training::microbatch_size, ModelLimits::ranks>},
    Option{"sequence-length", "seq-length", S::model, A::required, "N", "tokens of a sample; default the model's", "",
           "", count<&Training::sequence_length, ModelLimits::tokens>},
    Option{"tensor-parallel", "tensor-model-parallel-size", S::model, A::required, "N",
           "devices over which each layer is split; a stage is then as many devices; default 1", "", "",
           count<&Training::tensor_parallel, ModelLimits::ranks>},
    Option{"sequence-parallel", "", S::model, A::required, "SWITCH",
           "whether tensor parallelism splits norms along the sequence too: on (default) or off", "on,off", "",
           set_switch<&Training::sequence_parallel>},
    Option{"context-parallel", "context-parallel-size", S::model, A::required, "N",
           "devices over which the sequence is split; default 1", "", "",
           count<&Training::context_parallel, ModelLimits::ranks>},
    Option{"expert-parallel", "expert-model-parallel-size", S::model, A::required, "N",
           "data-parallel ranks over which experts are spread; default 1", "", "",
           count<&Training::expert_parallel, ModelLimits::ranks>},
    Option{"data-parallel", "", S::model, A::required, "N",
           "copies of the pipeline that share a batch; gradients are reduced over them; default 1", "", "",
           count<&Training::data_parallel, ModelLimits::ranks>},
    Option{"distributed-optimizer", "", S::model, A::required, "SWITCH",
           "whether optimizer state is divided over data-parallel ranks (ZeRO 1): on (default) or off", "on,off", "",
           set_switch<&Training::distributed_optimizer>},
    Option{"data-type", "", S::model, A::required, "TYPE", "of matrix products; default bf16",
           "bf16,fp16,fp8,tf32,fp32", "", set_data_type},
    Option{"attention", "", S::model, A::required, "KIND",
           "flash keeps no scores, unfused keeps them; default the model's", "flash,unfused", "", set_attention},
    Option{"gradient-bytes-per-parameter", "", S::model, A::required, "N", "default 4 (fp32)", "", "",
           count<&Training::gradient_bytes, ModelLimits::gradient_bytes>},
    Option{"optimizer-bytes-per-parameter", "", S::model, A::required, "N",
           "default 12 (Adam: two moments and a master copy), with fp32 and tf32 8", "", "",
           count<&Training::optimizer_bytes, ModelLimits::optimizer_bytes, 0>},
    Option{"tensor-link", "", S::model, A::required, "NAME",
           "link of tensor parallelism ('ppsim list links'); default the device's", "", "",
           set_group_link<&Training::tensor_link>},
    Option{"expert-link", "", S::model, A::required, "NAME", "link of expert parallelism; default ib-ndr", "", "",
           set_group_link<&Training::expert_link>},
    Option{"data-link", "", S::model, A::required, "NAME", "link of data parallelism; default ib-ndr", "", "",
           set_group_link<&Training::data_link>},

    Option{"forward", "", S::costs, A::required, "TIME[,...]",
           "forward of a whole stage and microbatch, or one value per chunk (P*V values), or per chunk and microbatch "
           "(P*V*M, "
           "chunk by chunk); default 1ms",
           "", "", set_list<&I::forward>},
    Option{"backward", "", S::costs, A::required, "TIME[,...]",
           "full backward likewise; split in half where only it is given; default 2ms", "", "input-grad,weight-grad",
           set_list<&I::backward>},
    Option{"input-grad", "", S::costs, A::required, "TIME[,...]", "input-gradient half of the backward", "", "backward",
           set_list<&I::input_grad>},
    Option{"weight-grad", "", S::costs, A::required, "TIME[,...]", "weight-gradient half of the backward", "",
           "backward", set_list<&I::weight_grad>},
    Option{"overhead", "", S::costs, A::required, "TIME", "added to every task: kernel launch, Python; default 0ns", "",
           "", set_unit<&I::overhead>},
    Option{"pair", "", S::costs, A::required, "RULE",
           "how long an overlapped pair F&B lasts: sum (default), max, serial, hide, or a factor of the sum",
           "sum,max,serial,hide", "", set_pair},
    Option{"forward-collective", "", S::costs, A::required, "TIME[,...]",
           "part of the forward that is communication (tensor parallel, all-to-all); --pair hide overlaps it", "", "",
           set_list<&I::forward_collective>},
    Option{"backward-collective", "", S::costs, A::required, "TIME[,...]",
           "likewise, part of the input-gradient half of the backward", "", "", set_list<&I::backward_collective>},
    Option{"embedding", "", S::costs, A::required, "FORWARD[,BACKWARD]",
           "time that the embedding adds to the first chunk; the backward, all of it weight gradient, is by default as "
           "long",
           "", "", set_list<&I::embedding>},
    Option{"head", "", S::costs, A::required, "FORWARD[,BACKWARD]",
           "time that output layer and loss add to the last chunk; the backward, half of it weight gradient, is by "
           "default twice as long",
           "", "", set_list<&I::head>},
    Option{"recompute", "", S::costs, A::required, "KIND",
           "activations that a backward computes again: none (default); selective: some, see --recompute-time and "
           "--checkpoint-bytes; full: all but the input of a chunk",
           "none,selective,full", "recompute-time,checkpoint-bytes,microbatches-without-recompute", set_recompute},
    Option{"recompute-time", "", S::costs, A::required, "TIME[,...]",
           "by how much that makes the backward longer; with --recompute full by default the forward", "", "",
           set_list<&I::recompute_time>},
    Option{"microbatches-without-recompute", "", S::costs, A::required, "N",
           "of every W+1 forwards of a stage with W warm-up forwards, the first N are not recomputed; default 0", "",
           "", count<&I::microbatches_without_recompute, Limits::tasks, 0>},
    Option{"reduce", "", S::costs, A::required, "TIME[,...]",
           "data-parallel reduction of a stage's gradients, or one value per chunk; beside the tasks", "", "",
           set_list<&I::reduce>},
    Option{"tied-embedding-reduce", "", S::costs, A::required, "TIME",
           "reduction of the embedding that the first and the last chunk share", "", "",
           set_unit<&I::tied_embedding_reduce>},
    Option{"optimizer", "", S::costs, A::required, "TIME[,...]", "optimizer step of a stage, or one value per chunk",
           "", "", set_list<&I::optimizer>},
    Option{"optimizer-step", "", S::costs, A::required, "WHEN",
           "synchronous (default): all stages together; per-stage: each when its own gradients are there",
           "synchronous,per-stage", "", set_optimizer_step},

    Option{"comm", "", S::communication, A::required, "TIME[,...]",
           "time of a transfer between stages, or one per boundary between chunks (P*V-1 values); default 0ns", "",
           "latency,bandwidth,link", set_list<&I::comm>},
    Option{"latency", "", S::communication, A::required, "TIME[,...]",
           "fixed part of a transfer's time, with --bandwidth for the rest", "", "comm,link", set_list<&I::latency>},
    Option{"bandwidth", "", S::communication, A::required, "RATE", "bandwidth of a link: 50GB/s, 400Gbit/s", "",
           "comm,link", set_unit<&I::bandwidth>},
    Option{"link", "", S::communication, A::required, "NAME",
           "latency and bandwidth between stages from a datasheet ('ppsim list links'; nvlink is the device's); with "
           "--model "
           "by default ib-ndr",
           "", "comm,latency,bandwidth", set_link<&I::link>},
    Option{"boundary-bytes", "", S::communication, A::required, "SIZE[,...]",
           "size of a transfer, or one per boundary between chunks", "", "", set_list<&I::boundary_bytes>},
    Option{"transfer", "", S::communication, A::required, "MODEL",
           "latency (default): no contention; link: one transfer at a time per link; blocking: stages wait for their "
           "sends and receives; streams: sends and receives in order on communicators, as NCCL runs them",
           "latency,link,blocking,streams", "", set_transfer},
    Option{"lowering", "", S::communication, A::required, "NAME",
           "who places sends and receives, with --transfer streams and --csv-comms ('ppsim list lowerings'); default "
           "edge, our runtime; of a file with such cells the file",
           "", "", set_lowering},
    Option{"overlap-p2p", "", S::communication, A::optional, "PASSES",
           "with --lowering megatron and several chunks per stage: the passes that its sends and receives run beside: "
           "steady (default), those of 1F1B (overlap_p2p_comm); all, those of warm-up and cool-down too "
           "(overlap_p2p_comm_warmup_flush); none (batch_p2p_comm), the default with --p2p batched",
           "none,steady,all", "", set_overlap_p2p},
    Option{
        "pytorch-version", "", S::communication, A::required, "VERSION",
        "the PyTorch that --csv-comms is for, and whose order --lowering pytorch is: 2.14 (default), or 2.6 where it "
        "is older than 2.10 and knows no REDUCE_GRAD",
        "2.6,2.14", "", set_pytorch_version},
    Option{"p2p", "", S::communication, A::required, "HOW",
           "what sends and receives share: edge, a communicator per directed edge; pair, one per pair of stages, as "
           "PyTorch's isend and irecv on a group without device_id; direction, two for all, of activations and of "
           "gradients, as PyTorch's pipeline_per_direction_p2p; group, one for all, as batch_isend_irecv; batched, "
           "the same with the sends of a "
           "task and the receives of the next as a group, as Megatron-LM. A simulation (--transfer streams) takes by "
           "default what its lowering is meant for, a replay edge",
           "edge,pair,direction,group,batched", "", set_p2p},
    Option{"eager-below", "", S::communication, A::required, "SIZE",
           "with --transfer streams: sends of fewer bytes do not wait for their receive; default 0B", "", "",
           set_unit<&I::eager_below>},
    Option{"comm-slowdown", "", S::communication, A::required, "FACTOR",
           "with --transfer streams: compute takes so many times as long while a transfer runs on its stage, which "
           "takes multiprocessors; default 1",
           "", "", set_comm_slowdown},
    Option{"send-slices", "", S::communication, A::required, "N",
           "equal parts in which a task's output leaves, each when that share of the task is done; default 1", "", "",
           count<&I::send_slices, Limits::slices>},
    Option{"stages-per-node", "", S::communication, A::required, "N",
           "consecutive stages that share a node; with --transfer link they share its one uplink", "", "",
           count<&I::stages_per_node, Limits::stages>},
    Option{"inter-node-link", "", S::communication, A::required, "NAME", "likewise between nodes", "",
           "inter-node-latency,inter-node-bandwidth", set_link<&I::inter_node_link>},
    Option{"inter-node-latency", "", S::communication, A::required, "TIME",
           "fixed part of a transfer between nodes; default as within one", "", "", set_unit<&I::inter_node_latency>},
    Option{"inter-node-bandwidth", "", S::communication, A::required, "RATE",
           "bandwidth between nodes; default as within one", "", "", set_unit<&I::inter_node_bandwidth>},

    Option{"activation-bytes", "", S::memory, A::required, "SIZE[,...]",
           "activations of a whole stage and one microbatch, or one value per chunk", "", "",
           set_list<&I::activation_bytes>},
    Option{"weight-activation-bytes", "", S::memory, A::required, "SIZE[,...]",
           "the part of them that W needs, kept to its end; the rest goes at the end of I; default all", "", "",
           set_list<&I::weight_activation_bytes>},
    Option{
        "checkpoint-bytes", "", S::memory, A::required, "SIZE[,...]",
        "the part of them that a forward keeps where it is recomputed; with --recompute full by default the input of "
        "a chunk (--boundary-bytes)",
        "", "", set_list<&I::checkpoint_bytes>},
    Option{"release-outputs", "", S::memory, A::none, "",
           "give up the output of a chunk (--boundary-bytes, a part of its activation) once it is sent", "", "",
           set_flag<&I::release_outputs>},
    Option{"parameter-bytes", "", S::memory, A::required, "SIZE[,...]", "parameters of a stage, or one value per chunk",
           "", "", set_list<&I::parameter_bytes>},
    Option{"gradient-bytes", "", S::memory, A::required, "SIZE[,...]", "gradients likewise", "", "",
           set_list<&I::gradient_bytes>},
    Option{"optimizer-bytes", "", S::memory, A::required, "SIZE[,...]", "optimizer state likewise", "", "",
           set_list<&I::optimizer_bytes>},
    Option{"memory-limit", "", S::memory, A::required, "SIZE",
           "what a device holds; exit status 3 when a stage needs more", "", "", set_unit<&I::memory_limit>},

    Option{"scenario", "", S::scenario, A::required, "FILE",
           "read options from a TOML file; its keys are these flags without dashes, flags win over it", "", "",
           set_text<&I::scenario>},
    Option{"title", "", S::scenario, A::required, "TEXT", "a name for the run, shown in report and chart", "", "",
           set_text<&I::title>},
    Option{"source", "", S::scenario, A::required, "TEXT", "where the costs come from, shown in report and chart", "",
           "", set_text<&I::source>},

    Option{"backend", "", S::workload, A::required, "NAME",
           "what a replay runs on, see 'ppsim list backends'; default threads", "threads,mpi,cuda,nccl", "",
           set_backend},
    Option{"compute", "", S::workload, A::required, "HOW",
           "real (default): tasks compute a model of the sizes below; timed: they last as the costs say, and compute "
           "next to nothing",
           "real,timed", "", set_compute},
    Option{
        "transport", "", S::workload, A::required, "HOW",
        "how outputs move: direct, at the machine's pace; paced, each as long as the scenario says, an emulated link; "
        "nccl-self, by NCCL on one GPU; default direct, with --compute timed and transfers that take time paced, "
        "where the backend can",
        "direct,paced,nccl-self", "", set_transport},
    Option{"slots", "", S::workload, A::required, "N",
           "outputs that can have arrived over an edge and not be used yet; default what the prediction needs and one "
           "more",
           "", "", count<&I::slots, Limits::tasks>},
    Option{"block", "", S::workload, A::required, "KIND", "a layer: mlp (default), or transformer with attention",
           "mlp,transformer", "", set_block},
    Option{"tokens", "", S::workload, A::required, "N", "rows of an activation; default 256 (scale: as measured)", "",
           "", count<&runtime::Workload::tokens, runtime::most_rows>},
    Option{"width", "", S::workload, A::required, "N", "columns of an activation; default 256 (scale: as measured)", "",
           "", count<&runtime::Workload::width, runtime::most_rows>},
    Option{"heads", "", S::workload, A::required, "N",
           "of a transformer's attention; divides the width; default 4 (scale: as measured)", "", "",
           count<&runtime::Workload::heads, runtime::most_rows>},
    Option{"layers-per-chunk", "", S::workload, A::required, "N",
           "layers that each chunk computes; default 1 (scale: as measured)", "", "",
           count<&runtime::Workload::layers, runtime::most_layers>},
    Option{"seed", "", S::workload, A::required, "N", "of parameters, inputs and targets; default 1", "", "",
           count<&runtime::Workload::seed, std::numeric_limits<std::uint32_t>::max(), 0>},
    Option{"trainer", "", S::workload, A::required, "KIND", "the optimizer that a replay runs: sgd (default), or adam",
           "sgd,adam", "learning-rate", set_trainer},
    Option{"learning-rate", "", S::workload, A::required, "X",
           "its step size; default 0.05, of adam 0.002, and less for more than 16 layers", "", "", set_learning_rate},

    Option{"warmup", "", S::replay, A::required, "N", "steps before the first that counts; default 2", "", "",
           count<&I::warmup, most_steps, 0>},
    Option{"steps", "", S::replay, A::required, "N", "steps that count; default 5", "", "",
           count<&I::steps, most_steps>},
    Option{"timeout", "", S::replay, A::required, "TIME",
           "give up when nothing has gone on for so long; default ten seconds and ten predicted steps, without costs a "
           "minute and more for large work",
           "", "", set_timeout},
    Option{"inject", "", S::replay, A::required, "FAULT",
           "make the run fail on purpose in its second step, to see how it ends: fail@1F3 (the task throws), "
           "stall@0B2 (never ends), no-memory@1F0, lose@0F2 (its output is never sent), resize@0F1 (it has another "
           "size)",
           "", "", set_fault},
    Option{"output", "", S::replay, A::required, "FILE",
           "what is made: a scenario (calibrate, scale, import), a run (replay), packed where FILE ends in .gz; also "
           "-o FILE",
           "", "", set_text<&I::output>},
    Option{"timeline", "", S::replay, A::required, "FILE",
           "a run: that 'ppsim replay -o FILE' wrote (validate); where to write it (import)", "", "",
           set_text<&I::timeline>},
    Option{"replica", "", S::replay, A::required, "N",
           "of several data-parallel replicas, the one to take; default 0, for the pictures of explain the slowest", "",
           "", count<&I::replica, ModelLimits::ranks, 0>},
    Option{"calibrate", "", S::replay, A::required, "SHARE",
           "of the steps of a run, the first ones, whose costs are to predict the others: 25% (default), 0.25", "", "",
           set_calibrate},
    Option{"by-microbatch", "", S::replay, A::none, "",
           "costs per chunk and microbatch, for microbatches that differ in length", "", "",
           set_flag<&I::by_microbatch>},
    Option{"mean-stage", "", S::replay, A::none, "",
           "costs of the mean stage, and of the ends as --embedding and --head: for any number of chunks", "", "",
           set_flag<&I::mean_stage>},
    Option{"tolerance", "", S::replay, A::required, "SHARE",
           "how far the predicted step time may be off: 5% (default), 0.05; beyond it the exit status is 3", "", "",
           set_tolerance},

    Option{"vary", "", S::comparison, A::required, "NAME=FROM..TO",
           "where the best changes while any option that takes a number runs over a range: comm=0..2ms, mb=8..256", "",
           "", set_vary},
    Option{"points", "", S::comparison, A::required, "N",
           "with --vary: values to simulate; default 100, of counts up to 256", "", "",
           count<&I::points, most_points, 2>},
    Option{"precision", "", S::comparison, A::required, "AMOUNT",
           "with --vary: how far apart tried values are at least, from the first on: 1us; 8 for each eighth; default "
           "about "
           "a ten-thousandth of the range, 1 of what is counted",
           "", "", set_text<&I::precision>},
    Option{"threads", "", S::comparison, A::required, "N",
           "simulate so many schedules at once; default as many as the machine has processors", "", "",
           count<&I::threads, most_threads>},
    Option{"markdown", "", S::comparison, A::optional, "FILE",
           "the comparison as a GitHub table; without FILE or with '-' to stdout, instead of the table", "", "",
           set_text<&I::markdown>},

    Option{"json", "", S::output, A::optional, "FILE",
           "the report or comparison as JSON (schema 1); without FILE or with '-' to stdout, instead of the report", "",
           "", set_text<&I::json>},
    Option{"svg", "", S::output, A::required, "FILE",
           "a Gantt chart; of a comparison, those of the fastest on one time axis", "", "", set_text<&I::svg>},
    Option{"trace", "", S::output, A::required, "FILE", "Chrome trace events, for Perfetto", "", "",
           set_text<&I::trace>},
    Option{"csv", "", S::output, A::required, "FILE",
           "the order as PyTorch pipelining CSV, or as InfiniTrain task list when FILE ends in .tasks.csv", "", "",
           set_text<&I::csv>},
    Option{"csv-comms", "", S::output, A::required, "FILE",
           "the same CSV with send and receive cells: those that --transfer streams simulates, of the file, of "
           "--lowering, else "
           "placed as PyTorch does",
           "", "", set_text<&I::csv_comms>},
    Option{"chakra", "", S::output, A::required, "PREFIX",
           "MLCommons Chakra execution traces for ASTRA-sim, one file per stage: PREFIX.0.et and so on", "", "",
           set_text<&I::chakra>},
    Option{"goal", "", S::output, A::required, "FILE", "GOAL text for LogGOPSim", "", "", set_text<&I::goal>},
    Option{"tasks", "", S::output, A::none, "", "list every task with its step and times, in the report or in the JSON",
           "", "", set_flag<&I::tasks>},
    Option{"sensitivity", "", S::output, A::none, "",
           "what 1 % faster compute on each stage, links twice as fast, more microbatches and more chunks would give",
           "", "", set_flag<&I::sensitivity>},
    Option{"fail-if", "", S::output, A::required, "CONDITION", "exit with status 3 if it holds: 'bubble_ratio > 0.1'",
           "", "", add_fail_if},
};

} // namespace

std::string_view to_string(Section section) {
  constexpr std::array<std::string_view, section_count> names{"Pipeline",   "Model",    "Costs",    "Communication",
                                                              "Memory",     "Scenario", "Workload", "Replay",
                                                              "Comparison", "Output"};
  return names[static_cast<std::size_t>(section)];
}

bool is_scenario_key(const Option& option) {
  return option.section != Section::output && option.section != Section::comparison &&
         option.section != Section::replay && option.name != "scenario";
}

std::span<const Option> options() {
  return table;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : table)
    if (option.name == name || (!option.alias.empty() && option.alias == name)) return &option;
  return nullptr;
}

void assign(const std::vector<Assignment>& assignments, Inputs& inputs, Problems& problems) {
  for (const Assignment& assignment : assignments) {
    inputs.where[std::string{assignment.option->name}] = assignment.where;
    if (auto wrong = assignment.option->set(inputs, assignment.value))
      problems.add(assignment.where, std::move(wrong->what), std::move(wrong->hint));
  }
}

} // namespace ppsim::cli
