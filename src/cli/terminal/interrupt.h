// Signals such as Ctrl-C, which end the work at the next safe point.
#pragma once

#include <csignal>

#include <array>
#include <atomic>
#include <optional>

namespace shunt::cli {

/// Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP while it exists. After defer() the first signal sets
/// stop(), and the second one ends the process at once. Before defer() there is nothing to clean
/// up, so the first one ends the process, with the same exit code. A signal that was ignored before
/// (nohup) stays ignored. A process has at most one Interrupt.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void defer();
  /// True when work should end. Any code may set it.
  std::atomic<bool>& stop();
  /// Whether there was a signal.
  bool happened() const { return exit_code().has_value(); }

  /// 128 + the number of the first signal; empty if there was none. Also after the Interrupt is
  /// gone.
  static std::optional<int> exit_code();
  /// The read end of a pipe that becomes readable at the first signal, and stays so. -1 if the
  /// system has no pipe left.
  static int signalled_file();

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_;
};

}  // namespace shunt::cli
