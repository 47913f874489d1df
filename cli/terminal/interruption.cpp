#include "interruption.hpp"

#include "files/memory_files.hpp"

namespace ppsim::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interruption(int /*signal*/) {
  interrupted = 1;
}

} // namespace

Interruption::Interruption() : handles_{current_call() == nullptr} {
  if (!handles_) return;
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = note_interruption;
  action.sa_flags = static_cast<int>(SA_RESETHAND); // the second signal has its default effect
  ::sigaction(SIGINT, &action, &before_);
}

Interruption::~Interruption() {
  if (handles_) ::sigaction(SIGINT, &before_, nullptr);
}

bool Interruption::has_come() {
  const Call* const call = current_call();
  if (call == nullptr) return interrupted != 0;
  const auto* const files = dynamic_cast<const MemoryFiles*>(call);
  return call->is_stopped() || (files != nullptr && files->has_searches_ended());
}

} // namespace ppsim::cli
