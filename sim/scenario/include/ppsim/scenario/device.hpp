#pragma once
// Devices and links: what datasheets say of them. A datasheet is not a measurement.

#include "ppsim/base/units.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// The type that the inputs of matrix products have. Activations are kept in 2 bytes an element, with fp32 and tf32 in
/// 4; with fp8 too they are kept in 2, and attention and output layer compute in bf16.
enum class DataType : std::uint8_t { bf16, fp16, fp8, tf32, fp32 };

/// A share of a datasheet's figure, in millionths.
using Share = std::int64_t;
inline constexpr Share whole_share = 1'000'000;

/// What ranks do together.
enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all };

/// What a transfer or a collective of some size took.
struct LinkSample {
  Bytes bytes{};
  Duration time{0};
  bool operator==(const LinkSample&) const = default;
};

/// What a collective took over a link where it was measured, by size.
struct MeasuredCollective {
  Collective collective = Collective::all_reduce;
  std::int64_t ranks = 0;        ///< from 2; 0: not said, then as many as it is asked for
  std::vector<LinkSample> times; ///< by rising size, of at least one
  std::string source = {};       ///< a user's file; of a shipped link empty
  bool operator==(const MeasuredCollective&) const = default;
};

/// A way between devices. Bandwidth counts one direction.
struct LinkSheet {
  std::string name = {};
  Duration latency{0}; ///< of one message, software included; no datasheet has it
  Bandwidth bandwidth{1};
  std::string source = {};
  Share reached = whole_share; ///< of the bandwidth, by messages so large that the latency does not matter
  std::vector<MeasuredCollective> measured = {}; ///< what is said of a collective by these is not computed
  /// What large messages reach.
  [[nodiscard]] Bandwidth reached_bandwidth() const;
  /// Whether `measured` is from files of a user.
  [[nodiscard]] bool has_files() const;
  bool operator==(const LinkSheet&) const = default;
};

/// What training reaches of a device's datasheet, by what an operation is limited by, and what it takes besides.
/// docs/costs.md has the formula and the source of each.
struct Reached {
  Share products = 700'000;     ///< of the rate, by matrix products whose operands cost nothing to read
  Share fp8_products = 650'000; ///< as above, for the rate of fp8
  Share attention = 500'000; ///< of the rate, by fused attention, of the half of the scores that a causal mask leaves
  Share scores = 226'000;    ///< of the rate, by the products of attention that is not fused, of all scores
  Share memory = 858'000;    ///< of the memory's bandwidth
  Duration launch{80'000};   ///< that the host takes to start an operation of a forward
  Duration grad_launch{14'000}; ///< as above, for a backward
  Duration pass{20'000};        ///< beside its operations, for each forward and backward of a chunk
  bool operator==(const Reached&) const = default;
};

/// One GPU. Rates are of dense matrix products, in floating-point operations per second; 0: it does not have the type.
struct DeviceSheet {
  std::string name = {};
  std::int64_t flops_16_bit = 0; ///< bf16 and fp16
  std::int64_t flops_fp8 = 0;
  std::int64_t flops_tf32 = 0;
  std::int64_t flops_fp32 = 0;
  Bytes memory = {};   ///< as its driver reports it
  Bytes reserved = {}; ///< of that, what training cannot use: see docs/costs.md
  Bandwidth memory_bandwidth{1};
  std::string link = {}; ///< the name of the link between devices of one node
  std::string source = {};
  Reached reached = {};
  [[nodiscard]] std::int64_t flops_per_second(DataType type) const;
  [[nodiscard]] Bytes usable_memory() const { return memory - std::min(reserved, memory); }
  bool operator==(const DeviceSheet&) const = default;
};

/// The shipped devices and links, in the order in which they are listed.
[[nodiscard]] std::span<const DeviceSheet> devices();
[[nodiscard]] std::span<const LinkSheet> links();
/// A shipped one by name. Throws Error with `where` as place.
[[nodiscard]] const DeviceSheet& find_device(std::string_view name, std::string_view where = "`device`");
[[nodiscard]] const LinkSheet& find_link(std::string_view name, std::string_view where = "`link`");

/// The link between nodes, and between stages, where a model is given and no link: ib-ndr.
[[nodiscard]] const LinkSheet& standard_link();

/// Time in which each of `ranks` gathers `bytes`, its own share of which it has (all-gather), adds up its share of
/// `bytes` (reduce-scatter), or exchanges `bytes` in equal parts with all (all-to-all): ceil(log2 ranks) messages'
/// latency, and (ranks-1)/ranks of the bytes. The lower bound that recursive doubling and halving reach (Thakur,
/// Rabenseifner and Gropp, 2005); a ring moves as many bytes.
[[nodiscard]] Duration exchange_time(const LinkSheet& link, std::int64_t ranks, Bytes bytes);
/// What a collective over `ranks` takes. `bytes` are those of all ranks together where they are gathered or scattered,
/// else those of each: the sizes of nccl-tests.
///
/// Read from what was measured with the nearest number of ranks: between two sizes on the line through both, below the
/// smallest its time, above the largest at its bandwidth; with other ranks at the same bus bandwidth, which is to say
/// in proportion to (ranks-1)/ranks (nccl-tests, doc/PERFORMANCE.md). A reduce-scatter is an all-gather backwards, and
/// both together are an all-reduce, whichever of them was measured. Else computed: an exchange, of an all-reduce two.
[[nodiscard]] Duration collective_time(const LinkSheet& link, Collective collective, std::int64_t ranks, Bytes bytes);

/// The files in `link` that a collective is read from; empty where it is computed.
[[nodiscard]] std::vector<const MeasuredCollective*> measured_for(const LinkSheet& link, Collective collective,
                                                                  std::int64_t ranks);

[[nodiscard]] std::string_view to_string(DataType type);
[[nodiscard]] std::string_view to_string(Collective collective);

} // namespace ppsim
