// The flags that say whether operations may fall back to another device.
#pragma once

#include "cli/arguments.h"
#include "shunt/explain.h"

namespace shunt::cli {

class FallbackFlags {
 public:
  void declare(Arguments& arguments);
  /// What falls back is said on stderr.
  FallbackPolicy policy() const;

 private:
  FallbackPolicy policy_;
};

}  // namespace shunt::cli
