// The flags that say whether operations may fall back to another device: those that a device
// refuses, and all of one that fails.
#pragma once

#include "cli/flags/arguments.h"
#include "shunt/engine.h"
#include "shunt/explain.h"

namespace shunt::cli {

class FallbackFlags {
 public:
  void declare(Arguments& arguments);
  /// Fallbacks are reported on stderr.
  FallbackPolicy policy() const;

 private:
  FallbackPolicy policy_;
};

class DeviceErrorFlag {
 public:
  void declare(Arguments& arguments);
  /// A device that is left out is reported on stderr.
  DeviceErrorPolicy policy() const;

 private:
  DeviceErrorPolicy policy_;
};

}  // namespace shunt::cli
