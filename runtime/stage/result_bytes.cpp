#include "result_bytes.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

namespace ppsim::runtime {

namespace {

[[noreturn]] void refuse(std::size_t has, const std::string& needs) {
  throw Error(ExitCode::failed, {"results of a rank", fmt::format("{} bytes where {} are expected", has, needs),
                                 "all processes must be the same program"});
}

/// Each part of a record but `cpu`, in the order in which they are sent.
template <class Record, class Visit>
void for_each_part(Record& record, Visit visit) {
  visit(record.tasks);
  visit(record.arrivals);
  visit(record.optimizer);
  visit(record.reductions);
  visit(record.static_bytes);
  visit(record.peak_bytes);
  visit(record.buffer_bytes);
  visit(record.busy);
  visit(record.losses);
}

void put(ByteWriter& writer, const StageRecord& record) {
  for_each_part(record, [&](const auto& part) { writer.put(part); });
  writer.put(record.cpu.value_or(Duration{-1}));
}

void get(ByteReader& reader, StageRecord& record) {
  for_each_part(record, [&](auto& part) { reader.get(part); });
  Duration cpu{};
  reader.get(cpu);
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
