#include "pipeline.hpp"

#include <algorithm>
#include <stdexcept>

#include "check.hpp"
#include "cuda_device.hpp"
#include "link.hpp"
#include "nccl.hpp"
#include "partitions.hpp"

namespace ppsim::runtime::gpu {

namespace {

/// Barriers and exchanges of the stages of one thread: enqueued when the last stage has called.
class StageBarrier {
public:
  explicit StageBarrier(std::vector<const Queue*> lanes) : lanes_{std::move(lanes)} {
    for (const Queue* queue : lanes_) met_.push_back(queue->make_event(false));
  }

  void barrier(std::size_t stage) {
    lanes_[stage]->record(met_[stage]);
    if (++arrived_ < lanes_.size()) return;
    arrived_ = 0;
    for (std::size_t waiting = 0; waiting < lanes_.size(); ++waiting)
      for (std::size_t other = 0; other < lanes_.size(); ++other)
        if (other != waiting) lanes_[waiting]->wait(met_[other]);
  }

  /// Exchanges between the same two stages pair up in call order.
  void exchange(std::size_t stage, std::size_t peer, const void* mine, void* theirs, std::size_t bytes) {
    Call call{stage, mine, theirs, bytes, lanes_[stage]->make_event(false), lanes_[stage]->make_event(false)};
    lanes_[stage]->record(call.ready);
    const auto waiting =
        std::ranges::find_if(calls_, [&](const Call& other) { return other.stage == peer && other.peer == stage; });
    call.peer = peer;
    if (waiting == calls_.end()) {
      calls_.push_back(std::move(call));
      return;
    }
    Call other = std::move(*waiting);
    calls_.erase(waiting);
    if (other.bytes != call.bytes)
      throw std::runtime_error{"stages " + std::to_string(peer) + " and " + std::to_string(stage) + " exchange " +
                               std::to_string(other.bytes) + " and " + std::to_string(call.bytes) + " bytes"};
    fetch(call, other);
    fetch(other, call);
    // Later work on either stream may change what the other copies.
    lanes_[call.stage]->wait(other.done);
    lanes_[other.stage]->wait(call.done);
  }

private:
  struct Call {
    std::size_t stage = 0;
    const void* mine = nullptr;
    void* theirs = nullptr;
    std::size_t bytes = 0;
    Event ready, done;
    std::size_t peer = 0;
  };

  void fetch(const Call& to, const Call& from) {
    const Queue& queue = *lanes_[to.stage];
    queue.wait(from.ready);
    PPSIM_GPU_CHECK(cudaMemcpyAsync(to.theirs, from.mine, to.bytes, cudaMemcpyDeviceToDevice, queue.get()));
    queue.record(to.done);
  }

  std::vector<const Queue*> lanes_;
  std::vector<Event> met_;
  std::size_t arrived_ = 0;
  std::vector<Call> calls_;
};

/// One stage's ends of the links.
class LinkTransport final : public Transport {
public:
  LinkTransport(const Program& program, StageId stage, const std::vector<std::unique_ptr<Link>>& links,
                StageBarrier& meeting, std::function<bool()> stopped)
      : stage_{stage}, links_{links}, meeting_{meeting}, stopped_{std::move(stopped)} {
    for (const ChannelId id : program.stages[index(stage)].in)
      if (Link* const link = links[index(id)].get()) incoming_.push_back(link);
    for (const ChannelId id : program.stages[index(stage)].out)
      if (Link* const link = links[index(id)].get()) outgoing_.push_back(link);
  }

  void begin_step() override {
    for (Link* const link : incoming_) link->begin_step();
  }
  [[nodiscard]] void* output(TransferRef transfer) override { return link(transfer).output(transfer.position); }
  void isend(TransferRef transfer, Bytes bytes) override {
    link(transfer).send(transfer.position, static_cast<std::size_t>(bytes.count()));
  }
  /// Slots are assigned at the send.
  void irecv(TransferRef /*transfer*/) override {}
  [[nodiscard]] const void* input(TransferRef transfer, Bytes expected) override {
    return link(transfer).input(transfer.position, static_cast<std::size_t>(expected.count()));
  }
  void release(TransferRef transfer) override { link(transfer).release(transfer.position); }
  [[nodiscard]] bool has_arrived(TransferRef transfer) override {
    return link(transfer).has_arrived(transfer.position);
  }
  [[nodiscard]] bool stopped() override { return stopped_ && stopped_(); }
  void finish_step() override {
    for (const Link* const link : outgoing_) wait_for(link->queue(), stopped_, "the transfers of a stage");
  }
  [[nodiscard]] std::vector<Arrival> arrivals() override {
    std::vector<Arrival> all;
    for (const Link* const link : incoming_) {
      const std::vector<Arrival> some = link->arrivals();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  void barrier() override { meeting_.barrier(index(stage_)); }
  void exchange(StageId peer, const void* mine, void* theirs, Bytes bytes) override {
    meeting_.exchange(index(stage_), index(peer), mine, theirs, static_cast<std::size_t>(bytes.count()));
  }
  [[nodiscard]] Bytes buffer_bytes() const override {
    std::size_t bytes = 0;
    for (const Link* const link : incoming_) bytes += link->receive_bytes();
    for (const Link* const link : outgoing_) bytes += link->send_bytes();
    return Bytes{static_cast<std::int64_t>(bytes)};
  }

private:
  [[nodiscard]] Link& link(TransferRef transfer) { return *links_[index(transfer.channel)]; }

  StageId stage_;
  const std::vector<std::unique_ptr<Link>>& links_; ///< by channel; null: a local one
  std::vector<Link*> incoming_, outgoing_;
  StageBarrier& meeting_;
  std::function<bool()> stopped_;
};

void move_by_copy(void* to, const void* from, std::size_t bytes, const Queue& queue) {
  PPSIM_GPU_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue.get()));
}
void move_by_kernel(void* to, const void* from, std::size_t bytes, const Queue& queue) {
  copy_by_kernel(to, from, bytes, queue.get());
}

class Pipeline final : public GpuPipeline {
public:
  Pipeline(const Program& program, const GpuOptions& options)
      : options_{options}, partitions_{program.stages.size()}, clock_{partitions_.transfer_queue(0), clock_kind()},
        handle_{make_matmul_handle()} {
    if (options.transport == "nccl-self" && !partitions_.primary_events())
      throw std::runtime_error{
          "transport nccl-self: NCCL records its events, of the primary context, on the given streams, and this driver "
          "does not allow that on streams of green contexts: use transport direct"};
    std::vector<const Queue*> lanes;
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
      devices_.push_back(std::make_unique<CudaDevice>(options.workload, partitions_.queue(stage),
                                                      partitions_.multiprocessors(), handle_.get(), clock_,
                                                      options.stopped));
      devices_.back()->warm_up(program.stages[stage]);
      lanes.push_back(&devices_.back()->queue());
    }
    meeting_ = std::make_unique<StageBarrier>(lanes);
    for (std::size_t id = 0; id < program.channels.size(); ++id)
      links_.push_back(make_link(program, make_id<ChannelId>(id)));
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage)
      transports_.push_back(
          std::make_unique<LinkTransport>(program, make_id<StageId>(stage), links_, *meeting_, options.stopped));
  }

  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() override {
    for (const auto& link : links_)
      if (link) link->queue().drain();
    for (const auto& device : devices_) device->queue().drain();
  }

  [[nodiscard]] Device& device(StageId stage) override { return *devices_.at(index(stage)); }
  [[nodiscard]] Transport& transport(StageId stage) override { return *transports_.at(index(stage)); }
  [[nodiscard]] std::string describe() const override {
    return partitions_.describe() + "; stamps by " +
           (clock_.kind() == Clock::Kind::events ? "events" : "%globaltimer") + ", the host's clock within " +
           std::to_string((clock_.error() + 999) / 1000) + " us";
  }

private:
  [[nodiscard]] Clock::Kind clock_kind() const {
    const bool read_by_kernels = options_.timed || options_.transport == "paced";
    return read_by_kernels || !partitions_.primary_events() ? Clock::Kind::kernels : Clock::Kind::events;
  }

  std::unique_ptr<Link> make_link(const Program& program, ChannelId id) {
    const Channel& channel = program.channels[index(id)];
    if (channel.is_local()) return nullptr; // stays on its stage
    LinkOptions link{.move = &move_by_copy,
                     .paced = options_.transport == "paced",
                     .overlaps = program.transfer_model != TransferModel::link,
                     .bytes = static_cast<std::size_t>(devices_.front()->sizes().boundary.count())};
    if (link.paced) link.move = &move_by_kernel;
    if (options_.transport == "nccl-self") link.move = make_nccl_self_mover();
    return std::make_unique<Link>(program, id, link, partitions_.transfer_queue(index(channel.from)),
                                  devices_[index(channel.from)]->queue(), devices_[index(channel.to)]->queue(), clock_);
  }

  GpuOptions options_;
  Partitions partitions_; ///< destroyed last, after all streams in it
  Clock clock_;
  MatmulHandle handle_;
  std::vector<std::unique_ptr<CudaDevice>> devices_;
  std::unique_ptr<StageBarrier> meeting_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<LinkTransport>> transports_;
};

} // namespace

std::unique_ptr<GpuPipeline> make_pipeline(const Program& program, const GpuOptions& options) {
  PPSIM_GPU_CHECK(cudaSetDevice(0));
  PPSIM_GPU_CHECK(cudaFree(nullptr)); // creates the primary context
  return std::make_unique<Pipeline>(program, options);
}

} // namespace ppsim::runtime::gpu
