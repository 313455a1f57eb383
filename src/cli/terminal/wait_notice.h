// Why Ctrl-C has not ended the work yet.
#pragma once

#include <string>
#include <thread>

#include "shunt/files.h"

namespace shunt::cli {

/// If it lives for longer than a second after the first signal (see Interrupt), a line appears on
/// stderr. The line says which work the end waits for, and that a second signal does not wait. A
/// thread sleeps until then.
class WaitNotice {
 public:
  /// "the device's current operation". Without a file or a thread to be had there is no notice.
  explicit WaitNotice(std::string what);
  ~WaitNotice();
  WaitNotice(const WaitNotice&) = delete;
  WaitNotice& operator=(const WaitNotice&) = delete;

 private:
  /// A pipe, whose one end can be read from once the other has been closed.
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
