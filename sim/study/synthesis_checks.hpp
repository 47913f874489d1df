#pragma once
// What synthesize() refuses, each with a remedy.

#include "ppsim/base/error.hpp"
#include "ppsim/study/synthesize.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace ppsim {

/// What no order can be sought for, or no bound proven. Throws Error (bad_input), as all below.
void check_synthesis(const RunSpec& spec, const SynthesisRequest& request);
void check_scenario(const RunSpec& spec, const Scenario& scenario);
/// Throws Error (no) if a stage cannot hold one microbatch.
void check_room(const RunSpec& spec, const ChunkPlacement& placement, const TaskGraph& plain, std::size_t passes,
                const synthesis::Instance& instance);
/// What the search cannot do if microbatches differ: those of that sequence do, whose `times` are in ns.
void check_by_microbatch(const RunSpec& spec, const SynthesisRequest& request, bool by_interval,
                         std::string_view sequence, std::span<const std::int64_t> times);
/// What the search cannot do if pairs overlap.
void check_pairs(const RunSpec& spec, bool by_interval, bool by_microbatch, std::size_t vpp);

/// What is wrong with an instance of those transfers.
[[nodiscard]] Error cannot_be_searched(const RunSpec& spec, std::string_view fault,
                                       TransferModel transfers = TransferModel::latency);

} // namespace ppsim
