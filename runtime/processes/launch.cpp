#include "ppsim/runtime/launch.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ppsim::runtime {

namespace {

/// Variables in which launchers store rank and size. PMIx sets no size; it comes after those that set both.
struct Variables {
  const char* rank;
  const char* size;
};
constexpr std::array launchers{
    Variables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, // Open MPI's mpirun
    Variables{"PMI_RANK", "PMI_SIZE"},                         // MPICH's mpirun (Hydra)
    Variables{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},         // srun
    Variables{"PMIX_RANK", nullptr},
};

std::optional<std::size_t> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  std::size_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

} // namespace

std::optional<Launch> launch(const std::function<const char*(const char*)>& variable) {
  for (const Variables& names : launchers) {
    const std::optional<std::size_t> rank = number(variable(names.rank));
    if (!rank) continue;
    const std::optional<std::size_t> size = names.size == nullptr ? std::nullopt : number(variable(names.size));
    // A batch script is itself a SLURM task, with rank 0 of 1; srun or mpirun inside it starts the real ones.
    if (std::string_view{names.rank} == "SLURM_PROCID" && size.value_or(1) < 2) continue;
    return Launch{*rank, size};
  }
  return std::nullopt;
}

std::optional<Launch> launch() {
  return launch([](const char* name) -> const char* { return std::getenv(name); }); // NOLINT(concurrency-mt-unsafe)
}

bool prints_for_all() {
  const std::optional<Launch> launched = launch();
  return !launched || launched->rank == 0;
}

} // namespace ppsim::runtime
