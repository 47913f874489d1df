#include "interruption.hpp"

namespace ppsim::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interruption(int /*signal*/) {
  interrupted = 1;
}

} // namespace

Interruption::Interruption() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = note_interruption;
  action.sa_flags = static_cast<int>(SA_RESETHAND); // the second one does what it did
  ::sigaction(SIGINT, &action, &before_);
}

Interruption::~Interruption() {
  ::sigaction(SIGINT, &before_, nullptr);
}

bool Interruption::has_come() {
  return interrupted != 0;
}

} // namespace ppsim::cli
