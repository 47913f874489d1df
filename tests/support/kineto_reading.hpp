#pragma once
// Profiles of the PyTorch profiler, read as 'import kineto' reads them.

#include "ppsim/base/error.hpp"
#include "support/kineto.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "traces/imports/kineto/kineto.hpp"

namespace ppsim::test {

inline traces::Recorded read_all(const std::vector<std::string>& texts, const traces::ImportOptions& options = {}) {
  std::vector<traces::ImportFile> files;
  for (std::size_t i = 0; i < texts.size(); ++i) files.push_back({"rank" + std::to_string(i) + ".json", texts[i]});
  return traces::read_kineto(files, options);
}
inline traces::Recorded read(const KinetoFile& file) {
  return read_all({file.text()});
}

/// "where: what | hint" of the error that reading gives.
inline std::string refusal(const std::vector<std::string>& texts, const traces::ImportOptions& options = {}) {
  try {
    (void)read_all(texts, options);
  } catch (const Error& error) {
    const Problem& problem = error.problems().front();
    return problem.where + ": " + problem.what + " | " + problem.hint;
  }
  return "";
}

inline std::size_t dropped(const traces::Recorded& recorded, const std::string& reason) {
  const auto found = recorded.dropped.find(reason);
  return found == recorded.dropped.end() ? 0 : found->second;
}

} // namespace ppsim::test
