// Run as a Python class.

#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include "bindings.hpp"
#include "run.hpp"
#include "runs/pages.hpp"

namespace ppsim::python {
namespace {

/// The result of `ask`, without the interpreter's lock; interruptible by signals if the run is large.
template <class Ask>
auto asked(Run& run, Ask ask) {
  std::optional<decltype(ask())> answer;
  Call call;
  work_without_lock(call, run.is_small(), [&] { answer.emplace(ask()); });
  return *std::move(answer);
}

/// One column of a structured array.
struct Column {
  const char* name;
  const char* format; ///< in NumPy's notation
  std::size_t offset;
};

/// Call it before pybind11 looks for NumPy in the initialiser of a static. If several threads import NumPy there, one
/// holds the interpreter's lock and waits for another that needs it.
void import_numpy() {
  static_cast<void>(py::module_::import("numpy"));
}

py::dtype make_dtype(std::initializer_list<Column> columns, std::size_t size) {
  import_numpy();
  py::list names;
  py::list formats;
  py::list offsets;
  for (const Column& column : columns) {
    names.append(column.name);
    formats.append(column.format);
    offsets.append(column.offset);
  }
  const py::dict layout;
  layout["names"] = names;
  layout["formats"] = formats;
  layout["offsets"] = offsets;
  layout["itemsize"] = size;
  return py::dtype::from_args(layout);
}

/// `items` as a read-only NumPy array without a copy; `owner` lives as long as the array.
template <class Items>
py::array view_of(const Items& items, const py::dtype& type, const py::object& owner) {
  py::array array{type, {static_cast<py::ssize_t>(items.size())}, {}, items.data(), owner};
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

Run& run_of(const py::object& self) {
  return py::cast<Run&>(self);
}

py::array tasks_of(const py::object& self) {
  Run& run = run_of(self);
  const auto* const rows = asked(run, [&] { return &run.task_rows(); });
  return view_of(*rows,
                 make_dtype({{"stage", "u2", offsetof(TaskRow, stage)},
                             {"chunk", "u2", offsetof(TaskRow, chunk)},
                             {"microbatch", "u4", offsetof(TaskRow, microbatch)},
                             {"pass", "U1", offsetof(TaskRow, pass)},
                             {"start_ns", "i8", offsetof(TaskRow, start_ns)},
                             {"end_ns", "i8", offsetof(TaskRow, end_ns)}},
                            sizeof(TaskRow)),
                 self);
}

py::array spans_of(const std::vector<Span>& spans, const py::object& self) {
  static_assert(sizeof(Span) == 2 * sizeof(std::int64_t));
  return view_of(
      spans,
      make_dtype({{"start_ns", "i8", offsetof(Span, start)}, {"end_ns", "i8", offsetof(Span, end)}}, sizeof(Span)),
      self);
}

py::array memory_of(const py::object& self, std::size_t stage) {
  Run& run = run_of(self);
  if (stage >= run.graph().scenario().shape.stages)
    throw py::index_error(
        fmt::format("stage: there is no stage {}: there are {} stages", stage, run.graph().scenario().shape.stages));
  const auto* const points = asked(run, [&] { return &run.memory(stage); });
  static_assert(sizeof(MemoryPoint) == 3 * sizeof(std::int64_t));
  return view_of(*points,
                 make_dtype({{"at_ns", "i8", offsetof(MemoryPoint, at)},
                             {"bytes", "i8", offsetof(MemoryPoint, bytes)},
                             {"live", "u8", offsetof(MemoryPoint, live)}},
                            sizeof(MemoryPoint)),
                 self);
}

/// An array by stage of `value_of` each stage's report.
template <class Value>
py::array_t<std::int64_t> by_stage(Run& run, Value value_of) {
  import_numpy();
  const RunReport* const report = asked(run, [&] { return &run.report(); });
  py::array_t<std::int64_t> values(static_cast<py::ssize_t>(report->stages.size()));
  auto place = values.mutable_unchecked<1>();
  for (std::size_t stage = 0; stage < report->stages.size(); ++stage)
    place(static_cast<py::ssize_t>(stage)) = value_of(report->stages[stage]);
  return values;
}

py::dict metrics_of(Run& run) {
  const Evaluation* const evaluation = asked(run, [&] { return &run.evaluation(); });
  py::dict values;
  for (const Metric& metric : metrics())
    if (metric.time != nullptr)
      values[py::str(std::string{metric.tag})] = metric.time(evaluation->report).count();
    else if (const auto value = metric.value(evaluation->report))
      values[py::str(std::string{metric.tag})] = *value;
  return values;
}

/// The cells of the CSV; a pair is one cell.
py::list order_of(const Run& run) {
  const py::str csv{traces::write_schedule_csv(run.graph().schedule())};
  py::list rows;
  for (const py::handle line : csv.attr("splitlines")()) rows.append(line.attr("split")(","));
  return rows;
}

std::string summary_of(Run& run) {
  const RunReport* const report = asked(run, [&] { return &run.report(); });
  const Shape& shape = run.graph().scenario().shape;
  return fmt::format("<ppsim.Run {}: {} stages, {} microbatches, step {}, bubble {:.1f} %{}>", run.graph().headline(),
                     shape.stages, shape.microbatches, format_duration(report->step_time), 100 * report->bubble_ratio,
                     report->overflow ? ", does not fit" : "");
}

/// The documents that the program writes, equal in every byte.
void define_documents(py::class_<Run, std::shared_ptr<Run>>& type) {
  const auto document = [&type](const char* name, auto make, const char* help) {
    type.def(
        name, [make](Run& run) { return asked(run, [&] { return make(run.evaluation(), run); }); }, help);
  };
  type.def(
      "json",
      [](Run& run, bool tasks) {
        return asked(run, [&] {
          const Evaluation& result = run.evaluation();
          return traces::report_json(result.graph, result.timeline, result.report, tasks || run.inputs().tasks);
        });
      },
      py::arg("tasks") = false, "The report as JSON text: what --json writes. tasks: with every task.");
  type.def(
      "text",
      [](Run& run, std::size_t width, bool tasks) {
        return asked(run, [&] {
          const Evaluation& result = run.evaluation();
          constexpr std::size_t narrowest = 60;
          constexpr std::size_t widest = 240;
          const viz::TextOptions options{.width = std::clamp(width, narrowest, widest)};
          std::string text = viz::text_report(result.graph, result.timeline, result.report, options);
          if (tasks || run.inputs().tasks) text += "\n" + viz::task_table(result.graph, result.timeline);
          return text;
        });
      },
      py::arg("width") = viz::TextOptions{}.width, py::arg("tasks") = false,
      "The report as text, in lines of at most `width` characters (60 to 240).");
  type.def(
      "svg",
      [](Run& run, bool memory) {
        return asked(run, [&] {
          const Evaluation& result = run.evaluation();
          const bool shown = memory || run.inputs().svg_memory;
          return viz::svg_gantt(result.graph, result.timeline, result.report,
                                shown ? viz::MemoryLanes::shown : viz::MemoryLanes::none);
        });
      },
      py::arg("memory") = false,
      "The Gantt chart as SVG text: what --svg writes. memory: with what each stage holds over time, as --svg-memory.");
  document(
      "html", [](const Evaluation& e, Run&) { return cli::simulated_page(e); },
      "A page to look into, as HTML text: what --html writes.");
  document(
      "trace", [](const Evaluation& e, Run&) { return traces::chrome_trace(e.graph, e.timeline, e.report); },
      "Chrome trace events as JSON text, for Perfetto: what --trace writes.");
  document(
      "csv", [](const Evaluation& e, Run&) { return traces::write_schedule(e.graph, "order.csv"); },
      "The order as PyTorch pipelining CSV: what --csv writes.");
}

void define_figures(py::class_<Run, std::shared_ptr<Run>>& type) {
  const auto figure = [&type](const char* name, auto ask, const char* help) {
    type.def_property_readonly(
        name, [ask](Run& run) { return asked(run, [&] { return ask(run); }); }, help);
  };
  figure(
      "step_time_ns", [](Run& run) { return run.step_time().step_time.count(); },
      "Time of a step in the long run, in nanoseconds (int).");
  figure(
      "makespan_ns", [](Run& run) { return (end_of(run.timeline()) - SimTime{}).count(); },
      "From the start of one step to its end, in nanoseconds (int).");
  figure(
      "bubble", [](Run& run) { return run.report().bubble_ratio; },
      "The share of all stages' time that is idle, 0 to 1 (float): the metric bubble_ratio.");
  figure(
      "fits", [](Run& run) { return !run.report().overflow; }, "False if a stage needs more than memory_limit.");
  figure(
      "exit_code", [](Run& run) { return static_cast<int>(run.exit_code()); },
      "The exit status of the program for this run: 3 if it does not fit or a condition of fail_if holds, else 0.");
}

} // namespace

void define_run(py::module_& module) {
  py::class_<Run, std::shared_ptr<Run>> type{module, "Run",
                                             "A simulated run. Times are whole nanoseconds, sizes bytes."};
  define_figures(type);
  define_documents(type);
  type.def_property_readonly("tasks", &tasks_of,
                             "Every task, stage by stage in its order: a read-only structured array of stage, chunk, "
                             "microbatch, pass ('F', 'B', 'I', 'W'), start_ns, end_ns; shape (tasks,). A view: the "
                             "memory is the run's.");
  type.def_property_readonly(
      "spans", [](const py::object& self) { return spans_of(run_of(self).timeline().tasks, self); },
      "start_ns and end_ns of every task, in the order of `tasks`; shape (tasks,). The simulator's own memory.");
  type.def_property_readonly(
      "transfers", [](const py::object& self) { return spans_of(run_of(self).timeline().transfers, self); },
      "start_ns and end_ns of the transfer that each task sends to another stage, zeros if it sends nothing; shape "
      "(tasks,). The simulator's own memory.");
  type.def("memory", &memory_of, py::arg("stage"),
           "The memory of a stage over time: a read-only structured array of at_ns, bytes, live (activations); a row "
           "per change. A view.");
  type.def_property_readonly(
      "peak_bytes",
      [](Run& run) { return by_stage(run, [](const StageReport& stage) { return stage.peak_bytes().count(); }); },
      "Peak memory of each stage, in bytes; shape (stages,).");
  type.def_property_readonly(
      "busy_ns", [](Run& run) { return by_stage(run, [](const StageReport& stage) { return stage.busy.count(); }); },
      "Compute time of each stage, in nanoseconds; shape (stages,).");
  type.def_property_readonly("metrics", &metrics_of, "All metrics by their tags: int in nanoseconds, or float.");
  type.def_property_readonly("order", &order_of,
                             "The tasks of each stage in their order, as lists of '0F0', '0B0'; an overlapped pair is "
                             "one cell, '(0F1;0B0)OVERLAP_F_B'.");
  type.def_property_readonly(
      "schedule", [](Run& run) { return run.graph().headline(); }, "Name of the schedule, or of its file.");
  type.def_property_readonly("stages", [](Run& run) { return run.graph().scenario().shape.stages; });
  type.def_property_readonly("microbatches", [](Run& run) { return run.graph().scenario().shape.microbatches; });
  type.def_property_readonly(
      "vpp", [](Run& run) { return run.graph().scenario().shape.vpp; }, "Chunks per stage.");
  type.def_property_readonly(
      "notes",
      [](Run& run) {
        py::list list;
        for (const std::string& note : asked(run, [&] { return run.notes(); })) list.append(decoded(in_python(note)));
        return list;
      },
      "Notes on the run, as sentences.");
  type.def("_repr_svg_", [](const py::object& self) { return self.attr("svg")(); });
  type.def("__repr__", &summary_of);
  type.def("__str__", [](const py::object& self) { return self.attr("text")(); });
  type.def(
      "to_dict",
      [](const py::object& self, bool tasks) {
        return py::module_::import("json").attr("loads")(self.attr("json")(tasks));
      },
      py::arg("tasks") = false, "The report as a dict, as in --json. tasks: with every task.");
}

} // namespace ppsim::python
