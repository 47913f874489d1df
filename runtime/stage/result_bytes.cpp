#include "result_bytes.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <tuple>

namespace ppsim::runtime {

namespace {

constexpr Duration unknown{-1}; ///< represents unrecorded processor time in messages

[[noreturn]] void refuse(std::size_t has, const std::string& needs) {
  throw Error(ExitCode::failed, {"results of a rank", fmt::format("{} bytes, expected {}", has, needs),
                                 "all processes must be the same program"});
}

/// The parts of a record except `cpu`, in message order.
auto parts_of(auto& record) {
  return std::tie(record.tasks, record.arrivals, record.optimizer, record.reductions, record.static_bytes,
                  record.peak_bytes, record.buffer_bytes, record.busy, record.losses);
}

} // namespace

std::size_t ByteReader::get_count(std::size_t size) {
  std::uint64_t count = 0;
  get(count);
  if (count > (bytes_.size() - at_) / size)
    refuse(bytes_.size(), fmt::format("{} times {} more than {}", count, size, at_));
  return count;
}

void ByteReader::take_bytes(void* data, std::size_t count, std::size_t size) {
  if (count == 0) return;
  if (count > (bytes_.size() - at_) / size) refuse(bytes_.size(), fmt::format("{} or more", at_ + count * size));
  std::memcpy(data, bytes_.data() + at_, count * size);
  at_ += count * size;
}

void ByteReader::end() const {
  if (at_ != bytes_.size()) refuse(bytes_.size(), fmt::format("{}", at_));
}

std::vector<std::byte> to_bytes(const StageResult& result) {
  ByteWriter writer;
  writer.put(result.stage, result.clock, result.losses, static_cast<std::uint64_t>(result.steps.size()));
  for (const StageRecord& record : result.steps) {
    std::apply([&](const auto&... part) { writer.put(part...); }, parts_of(record));
    writer.put(record.cpu.value_or(unknown));
  }
  writer.put(static_cast<std::uint64_t>(result.gradients.size()));
  for (const auto& [chunk, gradients] : result.gradients) writer.put(chunk, gradients);
  return writer.bytes();
}

StageResult result_from_bytes(const std::vector<std::byte>& bytes) {
  ByteReader reader{bytes};
  StageResult result;
  reader.get(result.stage, result.clock, result.losses);
  result.steps.resize(reader.get_count(sizeof(StageRecord::Interval)));
  for (StageRecord& record : result.steps) {
    std::apply([&](auto&... part) { reader.get(part...); }, parts_of(record));
    Duration cpu{};
    reader.get(cpu);
    if (cpu != unknown) record.cpu = cpu;
  }
  result.gradients.resize(reader.get_count(sizeof(ChunkId)));
  for (auto& [chunk, gradients] : result.gradients) reader.get(chunk, gradients);
  reader.end();
  return result;
}

} // namespace ppsim::runtime
