// A line on stderr if Ctrl-C has not ended the work within a second.
#pragma once

#include <string>
#include <thread>

#include "shunt/files.h"

namespace shunt::cli {

/// Prints a line if it exists for longer than a second after the first signal (see Interrupt). The
/// line names the work that has to end first, and the effect of a second signal. A thread sleeps
/// until then.
class WaitNotice {
 public:
  /// `what`: "the device's current operation". If there is no pipe or thread, there is no notice.
  explicit WaitNotice(std::string what);
  ~WaitNotice();
  WaitNotice(const WaitNotice&) = delete;
  WaitNotice& operator=(const WaitNotice&) = delete;

 private:
  /// A pipe. Its read end becomes readable when the write end is closed.
  struct Over {
    Descriptor read;
    Descriptor write;
  };
  static Over make_over();
  void watch() const;

  std::string what_;
  Over over_ = make_over();
  std::thread thread_;
};

}  // namespace shunt::cli
