#pragma once
// MessagePassing between threads: what MPI promises, without MPI. A send is complete when its receive has taken it.

#include "ppsim/runtime/message_passing.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace ppsim::runtime {

/// State shared by the ranks.
struct ThreadHub {
  struct Message {
    std::vector<std::byte> content;
    bool taken = false;
  };
  std::size_t size = 0;
  std::mutex mutex;
  std::map<std::tuple<std::size_t, std::size_t, int>, std::deque<std::shared_ptr<Message>>> queues; ///< from, to, tag
  std::vector<std::size_t> barriers;                                                                ///< begun, by rank
};

class ThreadMessages : public MessagePassing {
public:
  ThreadMessages(std::shared_ptr<ThreadHub> hub, std::size_t rank) : hub_{std::move(hub)}, rank_{rank} {}
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return hub_->size; }
  [[nodiscard]] std::size_t local_rank() const override { return rank_; }
  [[nodiscard]] std::string host() const override { return "here"; }

  Request isend(const void* data, std::size_t bytes, std::size_t to, int tag) override {
    auto message = std::make_shared<ThreadHub::Message>();
    if (bytes > 0) {
      message->content.resize(bytes);
      std::memcpy(message->content.data(), data, bytes);
    }
    const std::lock_guard lock{hub_->mutex};
    hub_->queues[{rank_, to, tag}].push_back(message);
    return add({.sent = message});
  }
  Request irecv(void* data, std::size_t capacity, std::size_t from, int tag) override {
    const std::lock_guard lock{hub_->mutex};
    return add({.sent = nullptr, .into = data, .capacity = capacity, .from = from, .tag = tag});
  }
  bool test(Request request, std::size_t* received) override {
    const std::lock_guard lock{hub_->mutex};
    // Receives match in the order in which they were posted, whichever is tested.
    for (auto& [id, operation] : operations_)
      if (operation.sent == nullptr && !operation.complete) match(operation);
    Operation& operation = operations_.at(request);
    if (operation.sent != nullptr ? !operation.sent->taken : !operation.complete) return false;
    if (received != nullptr) *received = operation.size;
    operations_.erase(request);
    return true;
  }
  void cancel(Request request) noexcept override { operations_.erase(request); }

  void start_barrier() override {
    const std::lock_guard lock{hub_->mutex};
    ++hub_->barriers[rank_];
  }
  bool test_barrier() override {
    const std::lock_guard lock{hub_->mutex};
    return *std::min_element(hub_->barriers.begin(), hub_->barriers.end()) >= hub_->barriers[rank_];
  }
  void abort(int /*status*/) noexcept override { std::terminate(); }

private:
  struct Operation {
    std::shared_ptr<ThreadHub::Message> sent; ///< null: a receive
    void* into = nullptr;
    std::size_t capacity = 0, from = 0;
    int tag = 0;
    bool complete = false;
    std::size_t size = 0;
  };
  Request add(Operation operation) {
    operations_.emplace(next_, std::move(operation));
    return next_++;
  }
  void match(Operation& operation) {
    auto& queue = hub_->queues[{operation.from, rank_, operation.tag}];
    if (queue.empty()) return;
    ThreadHub::Message& message = *queue.front();
    operation.size = message.content.size();
    if (operation.size > 0)
      std::memcpy(operation.into, message.content.data(), std::min(operation.size, operation.capacity));
    message.taken = true;
    operation.complete = true;
    queue.pop_front();
  }

  std::shared_ptr<ThreadHub> hub_;
  std::size_t rank_;
  Request next_ = 0;
  std::map<Request, Operation> operations_; ///< in the order in which they were begun
};

/// Runs `body` as each of `size` ranks, in a thread of its own; throws what the lowest rank that failed threw.
inline void run_ranks(std::size_t size, const std::function<void(MessagePassing&)>& body) {
  const auto hub = std::make_shared<ThreadHub>();
  hub->size = size;
  hub->barriers.resize(size);
  std::vector<std::exception_ptr> failures(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        ThreadMessages messages{hub, rank};
        body(messages);
      } catch (...) {
        failures[rank] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

} // namespace ppsim::runtime
