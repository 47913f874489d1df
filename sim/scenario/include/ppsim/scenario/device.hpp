#pragma once
// Devices and links: what datasheets say of them. A datasheet is no measurement.

#include "ppsim/base/units.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ppsim {

/// The type that the inputs of matrix products have. Activations are kept in 2 bytes an element, with fp32 and tf32 in
/// 4; with fp8 too they are kept in 2, and attention and output layer compute in bf16.
enum class DataType : std::uint8_t { bf16, fp16, fp8, tf32, fp32 };

/// A way between devices. Bandwidth counts one direction.
struct LinkSheet {
  std::string name = {};
  Duration latency{0}; ///< of one message, software included; no datasheet has it
  Bandwidth bandwidth{1};
  std::string source = {};
  bool operator==(const LinkSheet&) const = default;
};

/// One GPU. Rates are of dense matrix products, in floating-point operations per second; 0: it does not have the type.
struct DeviceSheet {
  std::string name = {};
  std::int64_t flops_16_bit = 0; ///< bf16 and fp16
  std::int64_t flops_fp8 = 0;
  std::int64_t flops_tf32 = 0;
  std::int64_t flops_fp32 = 0;
  Bytes memory = {};
  Bandwidth memory_bandwidth{1};
  std::string link = {}; ///< the name of the link between devices of one node
  std::string source = {};
  [[nodiscard]] std::int64_t flops_per_second(DataType type) const;
  bool operator==(const DeviceSheet&) const = default;
};

/// The shipped devices and links, in the order in which they are listed.
[[nodiscard]] std::span<const DeviceSheet> devices();
[[nodiscard]] std::span<const LinkSheet> links();
/// A shipped one by name. Throws Error with `where` as place.
[[nodiscard]] const DeviceSheet& find_device(std::string_view name, std::string_view where = "`device`");
[[nodiscard]] const LinkSheet& find_link(std::string_view name, std::string_view where = "`link`");

/// Time in which each of `ranks` gathers `bytes`, its own share of which it has (all-gather), adds up its share of
/// `bytes` (reduce-scatter), or exchanges `bytes` in equal parts with all (all-to-all): ceil(log2 ranks) messages'
/// latency, and (ranks-1)/ranks of the bytes. The lower bound that recursive doubling and halving reach (Thakur,
/// Rabenseifner and Gropp, 2005); a ring moves as many bytes.
[[nodiscard]] Duration exchange_time(const LinkSheet& link, std::int64_t ranks, Bytes bytes);
/// All-reduce: a reduce-scatter and an all-gather.
[[nodiscard]] Duration all_reduce_time(const LinkSheet& link, std::int64_t ranks, Bytes bytes);

[[nodiscard]] std::string_view to_string(DataType type);

} // namespace ppsim
