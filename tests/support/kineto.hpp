#pragma once
// Profiles as torch.profiler writes them, made for tests: the layout of Kineto's output_json.cpp, event by event.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ppsim::test {

/// One rank's file. Times in microseconds.
class KinetoFile {
public:
  /// `info` is the value of distributedInfo; empty for none.
  explicit KinetoFile(std::string info = R"({"backend": "nccl", "rank": 0, "world_size": 1})", std::string base = "") {
    text_ = "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n    {\"id\": 0, \"name\": \"NVIDIA "
            "A100\"}\n    ],";
    if (!info.empty()) text_ += fmt::format("\n      \"distributedInfo\": {},", info);
    text_ += "\n  \"displayTimeUnit\": \"ms\",";
    if (!base.empty()) text_ += fmt::format("\n  \"baseTimeNanoseconds\": {},", base);
    text_ += "\n  \"traceEvents\": [";
  }

  /// An event of any kind; `args` is text between braces.
  KinetoFile& event(std::string_view category, std::string_view name, std::string_view ts, std::string_view dur,
                    std::string_view args = "\"External id\": 1", int tid = 7) {
    text_ += fmt::format("\n  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 0, \"tid\": {},\n    "
                         "\"ts\": {}, \"dur\": {},\n    \"args\": {{\n      {}\n    }}\n  }},",
                         category, name, tid, ts, dur, args);
    return *this;
  }
  KinetoFile& annotation(std::string_view name, double ts, double dur, int id) {
    return event("user_annotation", name, fmt::format("{:.3f}", ts), fmt::format("{:.3f}", dur),
                 fmt::format("\"External id\": {}", id), 1234);
  }
  /// As Kineto draws it: a nanosecond longer at both ends than the kernels from `ts` on.
  KinetoFile& gpu_annotation(std::string_view name, double ts, double dur, int id, int stream = 7) {
    return event("gpu_user_annotation", name, fmt::format("{:.3f}", ts - 0.001), fmt::format("{:.3f}", dur + 0.002),
                 fmt::format("\"External id\": {}", id), stream);
  }
  KinetoFile& launch(double ts, int correlation) {
    return event("cuda_runtime", "cudaLaunchKernel", fmt::format("{:.3f}", ts), "2.000",
                 fmt::format("\"External id\": 900, \"cbid\": 211, \"correlation\": {0}", correlation), 1234);
  }
  KinetoFile& kernel(std::string_view name, double ts, double dur, int correlation, int stream = 7,
                     std::string_view more = "") {
    return event(
        "kernel", name, fmt::format("{:.3f}", ts), fmt::format("{:.3f}", dur),
        fmt::format("\"External id\": 900, \"device\": 0, \"context\": 1, \"stream\": {}, \"correlation\": {}, "
                    "\"grid\": [16,1,1], \"block\": [640,1,1]{}",
                    stream, correlation, more),
        stream);
  }
  KinetoFile& raw(std::string_view text) {
    text_ += text;
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] std::string text() const {
    return text_ +
           "\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": "
           "\"\", \"ts\": 99.000\n  }\n  ],\n  \"traceName\": \"trace.json\"\n}";
  }

private:
  std::string text_;
};

} // namespace ppsim::test
