#include "result_bytes.hpp"

#include "ppsim/sim/error.hpp"

#include <fmt/format.h>

namespace ppsim::runtime {

namespace {

[[noreturn]] void refuse(std::size_t has, const std::string& needs) {
  throw Error(ExitCode::failed, {"results of a rank", fmt::format("{} bytes where {} are expected", has, needs),
                                 "all processes must be the same program"});
}

void put(ByteWriter& writer, const StageRecord& record) {
  writer.put(record.tasks);
  writer.put(record.arrivals);
  writer.put(record.optimizer);
  writer.put(record.reductions);
  writer.put(record.static_bytes);
  writer.put(record.peak_bytes);
  writer.put(record.buffer_bytes);
  writer.put(record.busy);
  writer.put(record.cpu.value_or(Duration{-1}));
  writer.put(record.losses);
}

void get(ByteReader& reader, StageRecord& record) {
  Duration cpu{};
  reader.get(record.tasks);
  reader.get(record.arrivals);
  reader.get(record.optimizer);
  reader.get(record.reductions);
  reader.get(record.static_bytes);
  reader.get(record.peak_bytes);
  reader.get(record.buffer_bytes);
  reader.get(record.busy);
  reader.get(cpu);
  reader.get(record.losses);
  if (cpu >= Duration{0}) record.cpu = cpu;
}

} // namespace

std::size_t ByteReader::get_count(std::size_t size) {
  std::uint64_t count = 0;
  get(count);
  if (count > (bytes_.size() - at_) / size)
    refuse(bytes_.size(), fmt::format("{} times {} more than {}", count, size, at_));
  return count;
}

void ByteReader::get_bytes(void* data, std::size_t count, std::size_t size) {
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
  writer.put(result.stage);
  writer.put(result.clock);
  writer.put(result.losses);
  writer.put(static_cast<std::uint64_t>(result.steps.size()));
  for (const StageRecord& record : result.steps) put(writer, record);
  writer.put(static_cast<std::uint64_t>(result.gradients.size()));
  for (const auto& [chunk, gradients] : result.gradients) {
    writer.put(chunk);
    writer.put(gradients);
  }
  return writer.bytes();
}

StageResult result_from_bytes(const std::vector<std::byte>& bytes) {
  ByteReader reader{bytes};
  StageResult result;
  reader.get(result.stage);
  reader.get(result.clock);
  reader.get(result.losses);
  result.steps.resize(reader.get_count(sizeof(StageRecord::Interval)));
  for (StageRecord& record : result.steps) get(reader, record);
  result.gradients.resize(reader.get_count(sizeof(ChunkId)));
  for (auto& [chunk, gradients] : result.gradients) {
    reader.get(chunk);
    reader.get(gradients);
  }
  reader.end();
  return result;
}

} // namespace ppsim::runtime
