#pragma once
// How Catch2 prints ppsim's types when a check fails. Include it in every test file that compares them.

#include "ppsim/graph/task_graph.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/report/report.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace ppsim::test {

template <class Id>
std::string print_id(const char* kind, Id id) {
  return kind + std::to_string(index(id));
}

} // namespace ppsim::test

namespace Catch {

template <>
struct StringMaker<ppsim::Duration> {
  static std::string convert(ppsim::Duration value) { return std::to_string(value.count()) + " ns"; }
};
template <>
struct StringMaker<ppsim::SimTime> {
  static std::string convert(ppsim::SimTime value) {
    return "at " + std::to_string(value.time_since_epoch().count()) + " ns";
  }
};
template <>
struct StringMaker<ppsim::Span> {
  static std::string convert(const ppsim::Span& value) {
    return "[" + std::to_string(value.start.time_since_epoch().count()) + ", " +
           std::to_string(value.end.time_since_epoch().count()) + ") ns";
  }
};
template <>
struct StringMaker<ppsim::Bytes> {
  static std::string convert(ppsim::Bytes value) { return std::to_string(value.count()) + " B"; }
};
template <>
struct StringMaker<ppsim::Bandwidth> {
  static std::string convert(ppsim::Bandwidth value) { return std::to_string(value.bytes_per_second()) + " B/s"; }
};
template <>
struct StringMaker<ppsim::StageId> {
  static std::string convert(ppsim::StageId value) { return ppsim::test::print_id("stage ", value); }
};
template <>
struct StringMaker<ppsim::ChunkId> {
  static std::string convert(ppsim::ChunkId value) { return ppsim::test::print_id("chunk ", value); }
};
template <>
struct StringMaker<ppsim::MicrobatchId> {
  static std::string convert(ppsim::MicrobatchId value) { return ppsim::test::print_id("microbatch ", value); }
};
template <>
struct StringMaker<ppsim::TaskId> {
  static std::string convert(ppsim::TaskId value) {
    return value == ppsim::no_task ? "no task" : ppsim::test::print_id("task ", value);
  }
};
template <>
struct StringMaker<ppsim::Pass> {
  static std::string convert(ppsim::Pass value) { return {ppsim::letter(value)}; }
};
template <>
struct StringMaker<ppsim::Task> {
  static std::string convert(const ppsim::Task& value) {
    constexpr const char* pairing[] = {"", " (first of a pair)", " (second of a pair)"};
    return to_string(value) + pairing[static_cast<std::size_t>(value.pairing)];
  }
};
template <>
struct StringMaker<ppsim::Cause> {
  static std::string convert(ppsim::Cause value) { return std::string{to_string(value)}; }
};
template <>
struct StringMaker<ppsim::Label> {
  static std::string convert(ppsim::Label value) { return std::string{to_string(value)}; }
};
template <>
struct StringMaker<ppsim::Edge> {
  static std::string convert(const ppsim::Edge& value) {
    return std::to_string(index(value.from)) + " -> " + std::to_string(index(value.to)) + " (" +
           std::string{to_string(value.cause)} + ")";
  }
};
template <>
struct StringMaker<ppsim::LabelledSpan> {
  static std::string convert(const ppsim::LabelledSpan& value) {
    return std::string{to_string(value.label)} + " " + StringMaker<ppsim::Span>::convert(value.span) + " " +
           StringMaker<ppsim::TaskId>::convert(value.task);
  }
};
template <>
struct StringMaker<ppsim::Shape> {
  static std::string convert(const ppsim::Shape& value) {
    return "p=" + std::to_string(value.stages) + " m=" + std::to_string(value.microbatches) +
           " v=" + std::to_string(value.vpp);
  }
};
template <>
struct StringMaker<ppsim::Problem> {
  static std::string convert(const ppsim::Problem& value) {
    return value.where + ": " + value.what + " [hint: " + value.hint + "]";
  }
};
template <>
struct StringMaker<ppsim::ExitCode> {
  static std::string convert(ppsim::ExitCode value) { return "exit " + std::to_string(static_cast<int>(value)); }
};

} // namespace Catch
