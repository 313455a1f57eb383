// Ctrl-C, and whatever else should end the work at the next good place.
#pragma once

#include <csignal>

#include <atomic>

namespace shunt::cli {

/// While one lives, the first Ctrl-C sets stop(), and the second ends the process at once. Before
/// defer() nothing has been begun that wants a clean end, and the first one ends it as well, with
/// exit code 130. At most one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void defer();
  /// True when work should end. May be set by anyone.
  std::atomic<bool>& stop();
  /// Whether it was Ctrl-C that set it.
  bool happened() const;

 private:
  struct sigaction before_;
};

}  // namespace shunt::cli
