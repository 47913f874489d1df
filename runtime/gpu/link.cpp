#include "link.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace ppsim::runtime::gpu {

Link::Link(const Program& program, ChannelId id, const LinkOptions& options, Queue queue, const Queue& from,
           const Queue& to, Clock& clock)
    : id_{id}, channel_{program.channels[index(id)]}, options_{options}, queue_{std::move(queue)}, from_{from}, to_{to},
      given_{clock, from_}, began_{clock, queue_}, ended_{clock, queue_} {
  for (Stamps* const stamps : {&given_, &began_, &ended_}) stamps->reserve(channel_.transfers.size());
  for (std::size_t i = 0; i < channel_.slots; ++i) {
    outgoing_.push_back({allocate_memory(options_.bytes), from_.make_event(false), queue_.make_event(false)});
    incoming_.push_back({allocate_memory(options_.bytes), queue_.make_event(false), to_.make_event(false)});
  }
}

void Link::begin_step() {
  free_.clear();
  for (std::size_t slot = 0; slot < incoming_.size(); ++slot) free_.push_back(slot);
  sent_.assign(channel_.transfers.size(), {});
  order_.clear();
  given_.begin_step();
  began_.begin_step();
  ended_.begin_step();
}

std::string Link::name(std::uint32_t position) const {
  return "transfer " + std::to_string(position) + " from stage " + std::to_string(index(channel_.from)) + " to stage " +
         std::to_string(index(channel_.to));
}

void* Link::output(std::uint32_t position) {
  // As many buffers as slots: when a slot is free again, its last content has been copied, or will be soon.
  Outgoing& buffer = outgoing_[position % outgoing_.size()];
  from_.wait(buffer.copied);
  return buffer.memory.get();
}

void Link::send(std::uint32_t position, std::size_t bytes) {
  if (free_.empty())
    throw std::runtime_error{name(position) + " was issued before any of the " + std::to_string(incoming_.size()) +
                             " slots was free"};
  Outgoing& buffer = outgoing_[position % outgoing_.size()];
  const std::size_t slot = free_.front();
  free_.pop_front();
  if (options_.paced && options_.overlaps) static_cast<void>(given_.add());
  from_.record(buffer.produced);
  queue_.wait(buffer.produced);
  queue_.wait(incoming_[slot].freed); // an event that was never recorded is complete
  const Stamp stamp = began_.add();
  // A transfer of a wrong size must not exceed its buffer; the receiver refuses it.
  options_.move(incoming_[slot].memory.get(), buffer.memory.get(), std::min(bytes, options_.bytes), queue_);
  if (options_.paced)
    wait_past((options_.overlaps ? given_ : began_).address(stamp), channel_.transfers[position].time.count(),
              queue_.get());
  static_cast<void>(ended_.add());
  queue_.record(buffer.copied);
  queue_.record(incoming_[slot].arrived);
  sent_[position] = {slot, bytes, true};
  order_.push_back(position);
}

const void* Link::input(std::uint32_t position, std::size_t expected) {
  const Sent& sent = sent_[position];
  if (!sent.done) throw std::runtime_error{name(position) + " was never sent"};
  if (sent.bytes != expected)
    throw std::runtime_error{name(position) + " has " + std::to_string(sent.bytes) + " bytes, " +
                             std::to_string(expected) + " were expected"};
  to_.wait(incoming_[sent.slot].arrived);
  return incoming_[sent.slot].memory.get();
}

void Link::release(std::uint32_t position) {
  const std::size_t slot = sent_[position].slot;
  to_.record(incoming_[slot].freed);
  free_.push_back(slot);
}

bool Link::has_arrived(std::uint32_t position) const {
  const auto found = std::ranges::find(order_, position);
  return found != order_.end() && ended_.has_passed(static_cast<Stamp>(found - order_.begin()));
}

std::vector<Transport::Arrival> Link::arrivals() const {
  const std::vector<std::int64_t> given = given_.host_times();
  const std::vector<std::int64_t> began = began_.host_times();
  const std::vector<std::int64_t> ended = ended_.host_times();
  std::vector<Transport::Arrival> arrivals(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i)
    arrivals[i] = {{id_, order_[i]}, given.empty() ? began[i] : given[i], ended[i]};
  return arrivals;
}

} // namespace ppsim::runtime::gpu
