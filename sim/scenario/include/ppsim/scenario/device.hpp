#pragma once
// Devices and links: their datasheet values. A datasheet is not a measurement.

#include "ppsim/base/units.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// The input type of matrix products. Activations are stored in 2 bytes per element, with fp32 and tf32 in 4. With fp8
/// they are also stored in 2, and attention and output layer compute in bf16.
enum class DataType : std::uint8_t { bf16, fp16, fp8, tf32, fp32 };

/// A share of a datasheet value, in millionths.
using Share = std::int64_t;
inline constexpr Share whole_share = 1'000'000;

/// Communication between ranks.
enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };

/// The measured time of a transfer or a collective of one size.
struct LinkSample {
  Bytes bytes{};
  Duration time{0};
  bool operator==(const LinkSample&) const = default;
};

/// The measured times of a collective over a link, by size.
struct MeasuredCollective {
  Collective collective = Collective::all_reduce;
  std::int64_t ranks = 0;        ///< from 2; 0: unspecified, any number of ranks
  std::vector<LinkSample> times; ///< by rising size; at least one
  std::string source = {};       ///< a user's file; empty for a shipped link
  bool operator==(const MeasuredCollective&) const = default;
};

/// A connection between devices. Bandwidth counts one direction.
struct LinkSheet {
  std::string name = {};
  Duration latency{0}; ///< of one message, software included; datasheets do not state it
  Bandwidth bandwidth{1};
  std::string source = {};
  Share reached = whole_share; ///< of the bandwidth, by messages so large that latency does not matter
  std::vector<MeasuredCollective> measured = {}; ///< collectives that are read from measurements instead of computed
  /// The bandwidth that large messages reach.
  [[nodiscard]] Bandwidth reached_bandwidth() const;
  /// With that share of the bandwidth, in millionths; measured times stay.
  [[nodiscard]] LinkSheet scaled(std::int64_t ppm) const;
  /// Whether `measured` contains files of a user.
  [[nodiscard]] bool has_files() const;
  bool operator==(const LinkSheet&) const = default;
};

/// The share of a device's datasheet values that training reaches, by the limit of an operation, and additional times.
/// docs/costs.md has the formula and the sources.
struct Reached {
  Share products = 700'000;     ///< of the rate, by matrix products without the time to read operands
  Share fp8_products = 650'000; ///< as above, for the rate of fp8
  Share attention =
      500'000; ///< of the rate, by fused attention, counting the half of the scores that a causal mask leaves
  Share scores = 226'000;       ///< of the rate, by the products of unfused attention, counting all scores
  Share memory = 858'000;       ///< of the memory's bandwidth
  Duration launch{80'000};      ///< host time to start an operation of a forward
  Duration grad_launch{14'000}; ///< as above, for a backward
  Duration pass{20'000};        ///< in addition to its operations, for each forward and backward of a chunk
  bool operator==(const Reached&) const = default;
};

/// One GPU. Rates are of dense matrix products, in floating-point operations per second; 0: the type is not supported.
struct DeviceSheet {
  std::string name = {};
  std::int64_t flops_16_bit = 0; ///< bf16 and fp16
  std::int64_t flops_fp8 = 0;
  std::int64_t flops_tf32 = 0;
  std::int64_t flops_fp32 = 0;
  Bytes memory = {};   ///< as its driver reports it
  Bytes reserved = {}; ///< the part of it that training cannot use: see docs/costs.md
  Bandwidth memory_bandwidth{1};
  std::string link = {}; ///< the name of the link between devices of one node
  std::string source = {};
  Reached reached = {};
  [[nodiscard]] std::int64_t flops_per_second(DataType type) const;
  [[nodiscard]] Bytes usable_memory() const { return memory - std::min(reserved, memory); }
  bool operator==(const DeviceSheet&) const = default;
};

/// The shipped devices and links, in the order of lists.
[[nodiscard]] std::span<const DeviceSheet> devices();
[[nodiscard]] std::span<const LinkSheet> links();
/// A shipped one by name. Throws Error with `where` as place if the name is unknown.
[[nodiscard]] const DeviceSheet& find_device(std::string_view name, std::string_view where = "`device`");
[[nodiscard]] const LinkSheet& find_link(std::string_view name, std::string_view where = "`link`");

/// The default link between nodes and stages for a model without a link: ib-ndr.
[[nodiscard]] const LinkSheet& standard_link();

/// The time in which each of `ranks` gathers `bytes` including its own share (all-gather), reduces its share of `bytes`
/// (reduce-scatter), or exchanges `bytes` in equal parts with all (all-to-all): the latency of ceil(log2 ranks)
/// messages plus (ranks-1)/ranks of the bytes. Recursive doubling and halving reach this lower bound (Thakur,
/// Rabenseifner and Gropp, 2005); a ring moves as many bytes.
[[nodiscard]] Duration exchange_time(const LinkSheet& link, std::int64_t ranks, Bytes bytes);
/// The time of a collective over `ranks`. `bytes` are the total over all ranks for all_gather and reduce_scatter,
/// otherwise those of each rank: the sizes of nccl-tests.
///
/// Read from the measurements with the nearest number of ranks, if there are any: linear between two sizes, constant
/// below the smallest, at the bandwidth of the largest above it. Other rank counts keep the bus bandwidth, so time is
/// proportional to (ranks-1)/ranks (nccl-tests, doc/PERFORMANCE.md). A reduce-scatter takes as long as an all-gather,
/// and both together as long as an all-reduce, whichever was measured. Otherwise computed: one exchange_time(), or two
/// for an all-reduce.
[[nodiscard]] Duration collective_time(const LinkSheet& link, Collective collective, std::int64_t ranks, Bytes bytes);

/// The measurements of `link` that a collective is read from; empty if it is computed.
[[nodiscard]] std::vector<const MeasuredCollective*> measured_for(const LinkSheet& link, Collective collective,
                                                                  std::int64_t ranks);

[[nodiscard]] std::string_view to_string(DataType type);
[[nodiscard]] std::string_view to_string(Collective collective);

} // namespace ppsim
