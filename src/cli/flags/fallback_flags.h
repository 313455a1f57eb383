// The flags about fallback to another device: for ops that a device refuses, and for all ops of a
// device that fails.
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
