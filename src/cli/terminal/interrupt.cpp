#include "cli/terminal/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace shunt::cli {
namespace {

// A signal handler has no argument for state, so this state is global.
std::atomic<bool> stop_flag = false;
std::atomic<bool> deferred = false;
std::atomic<int> first_signal = 0;
// Both ends stay open: a handler may still be at work on another thread when Interrupt is gone.
std::atomic<int> signalled_read = -1;
std::atomic<int> signalled_write = -1;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr int exit_code_of(int signal) {
  return 128 + signal;  // as a shell reports it
}

void on_signal(int signal) {
  const int error = errno;  // of the interrupted code
  if (first_signal.exchange(signal) != 0 || !deferred) ::_exit(exit_code_of(signal));
  stop_flag = true;
  [[maybe_unused]] const ssize_t written = ::write(signalled_write, "", 1);
  errno = error;
}

}  // namespace

Interrupt::Interrupt() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    signalled_read = ends[0];
    signalled_write = ends[1];
  }
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

void Interrupt::defer() {
  deferred = true;
}
std::atomic<bool>& Interrupt::stop() {
  return stop_flag;
}

std::optional<int> Interrupt::exit_code() {
  const int signal = first_signal;
  return signal == 0 ? std::nullopt : std::optional(exit_code_of(signal));
}
int Interrupt::signalled_file() {
  return signalled_read;
}

}  // namespace shunt::cli
