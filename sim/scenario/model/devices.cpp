// Shipped devices and links, from their datasheets.

#include "ppsim/base/error.hpp"
#include "ppsim/scenario/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <vector>

namespace ppsim {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t tera = 1'000'000'000'000;
constexpr std::int64_t giga = 1'000'000'000;

constexpr Bandwidth gigabytes_per_second(std::int64_t count) {
  return Bandwidth{count * giga};
}

constexpr Bytes mebibytes(std::int64_t count) {
  return Bytes{count << 20};
}

/// The CUDA context with its libraries, NCCL's buffers, and fragmentation of the caching allocator, 2 %.
constexpr Bytes reserved_of(Bytes memory) {
  constexpr Bytes context = mebibytes(512);
  constexpr Bytes communication = mebibytes(1024);
  return context + communication + Bytes{memory.count() / 50};
}

/// All-reduces of 1, 2, 4 MiB and so on to 1 GiB, in microseconds.
MeasuredCollective all_reduces(std::int64_t ranks, const std::array<double, 11>& microseconds) {
  MeasuredCollective measured{.collective = Collective::all_reduce, .ranks = ranks, .times = {}};
  for (std::size_t i = 0; i < microseconds.size(); ++i)
    measured.times.push_back({mebibytes(std::int64_t{1} << i), Duration{std::llround(microseconds[i] * 1000)}});
  return measured;
}

template <class Entry>
const Entry& find(std::span<const Entry> entries, std::string_view what, std::string_view name,
                  std::string_view where) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw Error{ExitCode::bad_input,
              Problem{std::string{where}, fmt::format("unknown {} {}", what, in_quotes(name)),
                      did_you_mean(name, names, fmt::format("'ppsim list {}s' lists them", what))}};
}

} // namespace

Bandwidth LinkSheet::reached_bandwidth() const {
  return Bandwidth{scale_rounded(bandwidth.bytes_per_second(), reached, whole_share)};
}

LinkSheet LinkSheet::scaled(std::int64_t ppm) const {
  LinkSheet link = *this;
  link.bandwidth = Bandwidth{std::max<std::int64_t>(1, scale_rounded(bandwidth.bytes_per_second(), ppm, whole_share))};
  return link;
}

std::int64_t DeviceSheet::flops_per_second(DataType type) const {
  switch (type) {
  case DataType::fp8:
    return flops_fp8;
  case DataType::tf32:
    return flops_tf32;
  case DataType::fp32:
    return flops_fp32;
  case DataType::bf16:
  case DataType::fp16:
    break;
  }
  return flops_16_bit;
}

namespace {

/// Values without a source are assumed equal on all devices: launches are the host's.
DeviceSheet hopper(std::string name, Bytes memory, Bandwidth bandwidth, std::string link, std::string source) {
  return {.name = std::move(name),
          .flops_16_bit = 989 * tera,
          .flops_fp8 = 1979 * tera,
          .flops_tf32 = 494 * tera,
          .flops_fp32 = 67 * tera,
          .memory = memory,
          .reserved = reserved_of(memory),
          .memory_bandwidth = bandwidth,
          .link = std::move(link),
          .source = std::move(source),
          .reached = {.products = 645'000, .fp8_products = 690'000}};
}

} // namespace

std::span<const DeviceSheet> devices() {
  static const std::vector<DeviceSheet> all{
      {.name = "a100",
       .flops_16_bit = 312 * tera,
       .flops_tf32 = 156 * tera,
       .flops_fp32 = 19'500 * giga,
       .memory = mebibytes(81920),
       .reserved = reserved_of(mebibytes(81920)),
       .memory_bandwidth = gigabytes_per_second(2039),
       .link = "nvlink3",
       .source = "NVIDIA A100 80GB SXM datasheet, dense rates",
       .reached = {.products = 837'000, .attention = 550'000, .pass = 670us}},
      hopper("h100", mebibytes(81559), gigabytes_per_second(3350), "nvlink4", "NVIDIA H100 SXM datasheet, dense rates"),
      hopper("h200", mebibytes(143771), gigabytes_per_second(4800), "nvlink4",
             "NVIDIA H200 SXM datasheet, dense rates"),
      hopper("h800", mebibytes(81559), gigabytes_per_second(3350), "nvlink4-h800",
             "an H100 SXM with less NVLink, dense rates"),
      {.name = "b200",
       .flops_16_bit = 2250 * tera,
       .flops_fp8 = 4500 * tera,
       .flops_tf32 = 1100 * tera,
       .flops_fp32 = 80 * tera,
       .memory = mebibytes(183359),
       .reserved = reserved_of(mebibytes(183359)),
       .memory_bandwidth = gigabytes_per_second(8000),
       .link = "nvlink5",
       .source = "NVIDIA HGX B200 datasheet, an eighth of its eight, dense rates",
       .reached = {.products = 470'000, .fp8_products = 570'000}}};
  return all;
}

std::span<const LinkSheet> links() {
  static const std::string assumed = "; latency and share assumed";
  static const std::vector<LinkSheet> all{
      {"nvlink3",
       15us,
       gigabytes_per_second(300),
       "NVLink 3, 600 GB/s in both directions; latency and share reached by vTrain's tables of all-reduces on 2, 4 and "
       "8 A100, which are what those and their halves take",
       760'000,
       {all_reduces(2, {44.7, 52.3, 60.7, 87.1, 130.7, 229.5, 404.4, 764.6, 1455.1, 2835.9, 5448.1}),
        all_reduces(4, {52.1, 55.8, 76.6, 115.2, 178.7, 282.9, 542.2, 999.6, 1928.3, 3720.2, 7267.4}),
        all_reduces(8, {92.5, 93.1, 94.9, 132.1, 231.7, 356.9, 579.8, 1164.0, 2160.2, 4189.6, 8194.7})}},
      {"nvlink4", 7us, gigabytes_per_second(450),
       "NVLink 4, 900 GB/s in both directions; latency: all-reduces of up to 1 MiB on 8 H200 (S. Bekman); share "
       "reached: NCCL's rings, NVIDIA/nccl-tests#212",
       820'000},
      {"nvlink4-h800", 7us, gigabytes_per_second(200),
       "NVLink 4 of the H800, 400 GB/s in both directions; latency as nvlink4; share reached: 160 GB/s, DeepSeek-V3 "
       "(arXiv 2412.19437, section 3.2.2)",
       800'000},
      {"nvlink5", 8us, gigabytes_per_second(900),
       "NVLink 5, 1800 GB/s in both directions; latency and share reached by NCCL's rings on 8 B200 (S. Bekman)",
       750'000},
      {"pcie4", 10us, gigabytes_per_second(32), "PCIe 4.0 x16" + assumed, 800'000},
      {"pcie5", 10us, gigabytes_per_second(64), "PCIe 5.0 x16" + assumed, 800'000},
      {"ib-hdr", 30us, gigabytes_per_second(25),
       "InfiniBand HDR, 200 Gbit/s; latency assumed; share reached by the gradients of arXiv 2205.05198, section 6.3",
       450'000},
      {"ib-ndr", 30us, gigabytes_per_second(50), "InfiniBand NDR, 400 Gbit/s" + assumed, 800'000},
      {"ib-xdr", 30us, gigabytes_per_second(100), "InfiniBand XDR, 800 Gbit/s" + assumed, 800'000},
      {"eth-100g", 50us, Bandwidth{12'500'000'000}, "Ethernet, 100 Gbit/s" + assumed, 700'000},
      {"eth-400g", 50us, gigabytes_per_second(50), "Ethernet, 400 Gbit/s" + assumed, 700'000}};
  return all;
}

const DeviceSheet& find_device(std::string_view name, std::string_view where) {
  return find(devices(), "device", name, where);
}

const LinkSheet& find_link(std::string_view name, std::string_view where) {
  return find(links(), "link", name, where);
}

const LinkSheet& standard_link() {
  return find_link("ib-ndr");
}

std::string_view to_string(DataType type) {
  switch (type) {
  case DataType::bf16:
    return "bf16";
  case DataType::fp16:
    return "fp16";
  case DataType::fp8:
    return "fp8";
  case DataType::tf32:
    return "tf32";
  case DataType::fp32:
    break;
  }
  return "fp32";
}

} // namespace ppsim
