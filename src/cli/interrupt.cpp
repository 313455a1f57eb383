#include "cli/interrupt.h"

#include <unistd.h>

namespace shunt::cli {
namespace {

// A signal handler can be handed nothing: these are the one place where the process has state.
std::atomic<bool> stop_flag = false;
std::atomic<bool> signalled = false;
std::atomic<bool> deferred = false;
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr int kExitInterrupted = 130;

void on_signal(int) {
  if (!deferred) ::_exit(kExitInterrupted);
  signalled = true;
  stop_flag = true;
}

}  // namespace

Interrupt::Interrupt() {
  stop_flag = signalled = deferred = false;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;  // the second one is the system's
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &before_, nullptr);
}

void Interrupt::defer() {
  deferred = true;
}
std::atomic<bool>& Interrupt::stop() {
  return stop_flag;
}
bool Interrupt::happened() const {
  return signalled;
}

}  // namespace shunt::cli
