#include "engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "emulated_launch.hpp"
#include <ucontext.h>

namespace ppsim::emulation {

void refuse(const char* what) {
  std::fprintf(stderr, "emulation: %s\n", what);
  std::abort();
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' && *value != '0';
}

Engine& Engine::get() {
  static Engine engine;
  return engine;
}

Engine::Engine() {
  const char* seed = std::getenv("PPSIM_EMULATION_SEED");
  random_.seed(seed == nullptr ? 1U : static_cast<unsigned>(std::strtoul(seed, nullptr, 10)));
}

void Engine::add(CUstream_st* stream) {
  const std::lock_guard lock{mutex};
  streams_.push_back(stream);
}

void Engine::remove(CUstream_st* stream) {
  const std::lock_guard lock{mutex};
  std::erase(streams_, stream);
}

void Engine::append(CUstream_st* stream, std::function<bool()> work) {
  const std::lock_guard lock{mutex};
  stream->work.push_back(std::move(work));
}

/// Runs one piece of work of a random stream, or of the next one that can continue.
bool Engine::run_one() {
  if (streams_.empty()) return false;
  const std::size_t first = random_() % streams_.size();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    CUstream_st& stream = *streams_[(first + i) % streams_.size()];
    if (stream.work.empty() || !stream.work.front()()) continue;
    stream.work.pop_front();
    return true;
  }
  return false;
}

bool Engine::run_until_done(CUstream_st* stream) {
  const std::lock_guard lock{mutex};
  while (!stream->work.empty())
    if (!run_one()) return false;
  return true;
}

bool Engine::run_some(CUstream_st* stream) {
  constexpr int most = 16;
  constexpr std::int64_t longest = 1'000'000; // a held task takes as long as all others: the caller may choose
  const std::lock_guard lock{mutex};
  const std::int64_t begin = now();
  for (int i = 0; i < most && !stream->work.empty() && now() - begin < longest; ++i)
    if (!run_one()) break;
  return stream->work.empty();
}

std::int64_t Engine::now() {
  constexpr std::int64_t begin = 1'000'000'000'000'000; // a GPU's clock has another origin
  return begin +
         std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
             .count();
}

void enqueue(cudaStream_t stream, std::function<void()> work) {
  Engine::get().append(stream, [work = std::move(work)] {
    work();
    return true;
  });
}

std::uint64_t globaltimer() {
  return static_cast<std::uint64_t>(Engine::now());
}

namespace {

constexpr std::size_t stack_size = 128 * 1024;

/// A thread of a block that can be suspended.
struct Fiber {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(stack_size);
  bool done = false;
};

ucontext_t scheduler;
Fiber* running = nullptr;
const std::function<void()>* body = nullptr;

void enter() {
  (*body)();
  running->done = true;
  swapcontext(&running->context, &scheduler);
}

void start(Fiber& fiber) {
  fiber.done = false;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = &scheduler;
  makecontext(&fiber.context, &enter, 0);
}

void go_on(Fiber& fiber, std::size_t thread) {
  threadIdx.x = static_cast<unsigned>(thread);
  running = &fiber;
  swapcontext(&scheduler, &fiber.context);
  running = nullptr;
}

void run_block(std::vector<Fiber>& fibers, std::size_t threads) {
  start(fibers[0]);
  go_on(fibers[0], 0);
  if (fibers[0].done) { // if one thread does not wait, none does
    for (std::size_t thread = 1; thread < threads; ++thread) {
      threadIdx.x = static_cast<unsigned>(thread);
      (*body)();
    }
    return;
  }
  for (std::size_t thread = 1; thread < threads; ++thread) {
    start(fibers[thread]);
    go_on(fibers[thread], thread);
  }
  while (!fibers[0].done)
    for (std::size_t thread = 0; thread < threads; ++thread)
      if (!fibers[thread].done) go_on(fibers[thread], thread);
  for (std::size_t thread = 0; thread < threads; ++thread)
    if (!fibers[thread].done) {
      std::fputs("emulation: threads of a block meet in different places\n", stderr);
      std::abort();
    }
}

} // namespace

void run_grid(std::size_t blocks, std::size_t threads, const std::function<void()>& thread) {
  static std::vector<Fiber> fibers;
  if (fibers.size() < threads) fibers.resize(threads);
  body = &thread;
  gridDim.x = static_cast<unsigned>(blocks);
  blockDim.x = static_cast<unsigned>(threads);
  for (std::size_t block = 0; block < blocks; ++block) {
    blockIdx.x = static_cast<unsigned>(block);
    run_block(fibers, threads);
  }
  body = nullptr;
}

void synchronize_threads() {
  if (running == nullptr) {
    std::fputs("emulation: only some threads of a block meet\n", stderr);
    std::abort();
  }
  Fiber& self = *running;
  const unsigned thread = threadIdx.x;
  swapcontext(&self.context, &scheduler);
  threadIdx.x = thread;
}

} // namespace ppsim::emulation
