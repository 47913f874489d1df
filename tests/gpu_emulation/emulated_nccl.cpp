// NCCL on the emulated GPU, for ranks that are threads of one process. A send and its receive meet; calls of one group
// progress together; operations of one communicator run one after another.

#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <thread>

#include "engine.hpp"

using ppsim::emulation::refuse;

namespace {

struct Posted {
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<bool> done;
};

/// State shared by all ranks of a communicator.
struct Group {
  int ranks = 0;
  int joined = 0;
  std::map<std::pair<int, int>, std::deque<Posted>> sends, receives; // by from, to
};

struct Call {
  bool sends = false;
  void* memory = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
};

std::condition_variable_any joined;
std::map<std::string, std::shared_ptr<Group>>& groups() {
  static std::map<std::string, std::shared_ptr<Group>> all;
  return all;
}
thread_local int depth = 0;
thread_local std::vector<Call> pending;
thread_local std::vector<ncclComm_t> aborted; // in this group

} // namespace

struct ncclComm { // NOLINT
  std::shared_ptr<Group> group;
  int rank = 0;
  cudaStream_t stream = nullptr; // the first stream it was used on
  std::shared_ptr<bool> aborted = std::make_shared<bool>(false);
};

namespace {

void match(Group& group, std::pair<int, int> ends) {
  auto& sends = group.sends[ends];
  auto& receives = group.receives[ends];
  while (!sends.empty() && !receives.empty()) {
    if (sends.front().bytes != receives.front().bytes) refuse("NCCL: a send and its receive have other sizes");
    std::memcpy(receives.front().memory, sends.front().memory, sends.front().bytes);
    *sends.front().done = true;
    *receives.front().done = true;
    sends.pop_front();
    receives.pop_front();
  }
}

/// One launch: posts all operations when it starts to run, ends when all have met.
void launch(std::vector<Call> calls) {
  for (const Call& call : calls) {
    if (call.stream != calls.front().stream || call.communicator != calls.front().communicator)
      refuse("NCCL: a group on several streams or communicators, which this does not do");
    if (call.communicator->stream == nullptr) call.communicator->stream = call.stream;
    if (call.communicator->stream != call.stream) refuse("NCCL: a communicator on several streams");
    if (call.peer == call.communicator->rank && calls.size() < 2) refuse("NCCL: a send to oneself without its receive");
  }
  if (calls.empty()) return;
  auto done = std::make_shared<std::vector<std::shared_ptr<bool>>>();
  cudaStream_t const stream = calls.front().stream;
  const std::shared_ptr<Group> group = calls.front().communicator->group;
  const int rank = calls.front().communicator->rank;
  const auto stop = calls.front().communicator->aborted;
  ppsim::emulation::Engine::get().append(stream, [calls = std::move(calls), group, rank, stop, done] {
    if (*stop) return true;
    if (done->empty())
      for (const Call& call : calls) {
        const std::pair<int, int> ends = call.sends ? std::pair{rank, call.peer} : std::pair{call.peer, rank};
        done->push_back(std::make_shared<bool>(false));
        (call.sends ? group->sends : group->receives)[ends].push_back({call.memory, call.bytes, done->back()});
        match(*group, ends);
      }
    for (const auto& one : *done)
      if (!*one) return false;
    return true;
  });
}

/// Ends a communicator's running kernels, not those of its peers.
void stop(ncclComm_t communicator) {
  const std::lock_guard lock{ppsim::emulation::Engine::get().mutex};
  *communicator->aborted = true;
  for (auto& [ends, posted] : communicator->group->sends)
    if (ends.first == communicator->rank) posted.clear();
  for (auto& [ends, posted] : communicator->group->receives)
    if (ends.second == communicator->rank) posted.clear();
}

/// Waits for everything on its stream, possibly forever, as NCCL does.
void reclaim(ncclComm_t communicator) {
  while (communicator->stream != nullptr && !ppsim::emulation::Engine::get().run_until_done(communicator->stream))
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  delete communicator;
}

ncclResult_t call(Call it) {
  const std::lock_guard lock{ppsim::emulation::Engine::get().mutex};
  if (depth > 0)
    pending.push_back(it);
  else
    launch({it});
  return ncclSuccess;
}

} // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) {
  return "emulated";
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int next = 0;
  const std::lock_guard lock{ppsim::emulation::Engine::get().mutex};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "id %d", next++);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 1) refuse("NCCL: only blocking communicators");
  if (config->cgaClusterSize != 0) refuse("NCCL: clusters of blocks, which a small partition cannot place");
  std::unique_lock lock{ppsim::emulation::Engine::get().mutex};
  std::shared_ptr<Group>& group = groups()[id.internal];
  if (!group) group = std::make_shared<Group>();
  group->ranks = ranks;
  ++group->joined;
  *communicator = new ncclComm{group, rank};
  joined.notify_all();
  const auto shared = group;
  if (!joined.wait_for(lock, std::chrono::seconds{20}, [&] { return shared->joined >= ranks; }))
    refuse("NCCL: the other ranks do not come");
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  stop(communicator);
  if (depth > 0)
    aborted.push_back(communicator); // until the end of the group
  else
    reclaim(communicator);
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--depth > 0) return ncclSuccess;
  for (ncclComm_t communicator : std::exchange(aborted, {})) reclaim(communicator);
  const std::lock_guard lock{ppsim::emulation::Engine::get().mutex};
  launch(std::exchange(pending, {}));
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* memory, std::size_t bytes, ncclDataType_t, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return call({true, const_cast<void*>(memory), bytes, peer, communicator, stream});
}
ncclResult_t ncclRecv(void* memory, std::size_t bytes, ncclDataType_t, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  return call({false, memory, bytes, peer, communicator, stream});
}

} // extern "C"
