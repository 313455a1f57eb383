// Ctrl-C, and whatever else should end the work at the next good place.
#pragma once

#include <csignal>

#include <array>
#include <atomic>
#include <optional>

namespace shunt::cli {

/// While one lives, the first of SIGINT (Ctrl-C), SIGTERM and SIGHUP sets stop(), and the second
/// ends the process at once. Before defer() nothing has been begun that wants a clean end, and the
/// first one ends it as well, with the same exit code. A signal that was ignored before (nohup)
/// stays so. At most one in the life of a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void defer();
  /// True when work should end. May be set by anyone.
  std::atomic<bool>& stop();
  /// Whether it was a signal that set it.
  bool happened() const { return exit_code().has_value(); }

  /// 128 + the number of the first signal; empty if there was none. Also when no Interrupt lives.
  static std::optional<int> exit_code();
  /// A file that can be read from once there was a signal. Its content is never taken out. -1 if
  /// the system gave none.
  static int signalled_file();

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_;
};

}  // namespace shunt::cli
