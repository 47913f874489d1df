#pragma once
// Outputs: where each goes, and that no two go to one place. Every command that writes files has a table of them.

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

/// Where an option sends an output, or finds an input; nothing where it is not given.
struct Destination {
  std::string_view option;
  std::optional<std::string> path;
};
/// The files that are read: nothing is to be written over them.
[[nodiscard]] std::vector<Destination> sources(const Inputs& inputs);
/// True if one output goes to stdout. Throws Error if two outputs go to one place, or one over a file that is read.
[[nodiscard]] bool uses_stdout(std::span<const Destination> destinations, std::span<const Destination> sources);

/// One output option: where it goes and what makes it.
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

/// Throws Error where an output that is asked for cannot be written.
template <class Result, std::size_t size>
void require_writable(const std::array<Output<Result>, size>& outputs, const Inputs& inputs) {
  for (const Output<Result>& output : outputs)
    if (const auto& path = inputs.*output.path) require_writable(*path, fmt::format("--{}", output.option));
}

/// Makes and writes each output that is asked for, files first: who reads stdout may leave. Throws Error as
/// write_file() does.
template <class Result, std::size_t size>
void write_outputs(const std::array<Output<Result>, size>& outputs, const Result& result, const Inputs& inputs) {
  for (const bool to_stdout : {false, true})
    for (const Output<Result>& output : outputs)
      if (const auto& path = inputs.*output.path; path && (*path == "-") == to_stdout)
        write_file(*path, output.render(result, inputs), fmt::format("--{}", output.option));
}

} // namespace ppsim::cli
