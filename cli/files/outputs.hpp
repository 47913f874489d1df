#pragma once
// Outputs: the destination of each; no two may share one. Every command that writes files has a table of them.

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"
#include "runs/inputs.hpp"

namespace ppsim::cli {

/// The path of an option's output or input; none if it is not given.
struct Destination {
  std::string_view option;
  std::optional<std::string> path;
};
/// The input files, which must not be overwritten.
[[nodiscard]] std::vector<Destination> sources(const Inputs& inputs);
/// True if one output goes to stdout. Throws Error if two outputs have the same destination or one overwrites an input.
[[nodiscard]] bool uses_stdout(std::span<const Destination> destinations, std::span<const Destination> sources);

/// One output option, with its destination and its content.
template <class Result>
struct Output {
  std::string_view option;
  std::optional<std::string> Inputs::*path;
  std::string (*render)(const Result&, const Inputs&);
};

template <class Result, std::size_t size>
[[nodiscard]] bool uses_stdout(const std::array<Output<Result>, size>& outputs, const Inputs& inputs,
                               std::span<const Destination> also_read = {}) {
  std::vector<Destination> destinations;
  for (const Output<Result>& output : outputs) destinations.push_back({output.option, inputs.*output.path});
  std::vector<Destination> read = sources(inputs);
  read.insert(read.end(), also_read.begin(), also_read.end());
  return uses_stdout(destinations, read);
}

/// Throws Error if a requested output cannot be written.
template <class Result, std::size_t size>
void require_writable(const std::array<Output<Result>, size>& outputs, const Inputs& inputs) {
  for (const Output<Result>& output : outputs)
    if (const auto& path = inputs.*output.path) require_writable(*path, fmt::format("--{}", output.option));
}

/// Makes and writes each requested output, files first, because the reader of stdout may close it. Throws Error as
/// write_file().
template <class Result, std::size_t size>
void write_outputs(const std::array<Output<Result>, size>& outputs, const Result& result, const Inputs& inputs) {
  for (const bool to_stdout : {false, true})
    for (const Output<Result>& output : outputs)
      if (const auto& path = inputs.*output.path; path && (*path == "-") == to_stdout)
        write_file(*path, output.render(result, inputs), fmt::format("--{}", output.option));
}

} // namespace ppsim::cli
