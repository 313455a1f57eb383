// The flag `--lora`: adapters that are loaded beside a model, and used by all of its sequences.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/arguments.h"
#include "shunt/adapters.h"

namespace shunt::cli {

class LoraFlag {
 public:
  void declare(Arguments& arguments);
  /// For LoadOptions::adapters.
  const std::vector<std::string>& paths() const { return paths_; }
  /// For SessionOptions::adapters.
  const std::vector<AdapterUse>& uses() const { return uses_; }

 private:
  std::vector<std::string> paths_;
  std::vector<AdapterUse> uses_;
};

}  // namespace shunt::cli
