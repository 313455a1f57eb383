// The flag `--lora`: adapters that are loaded beside a model, and used by all of its sequences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/arguments.h"
#include "shunt/adapters.h"
#include "shunt/error.h"

namespace shunt::cli {

class LoraFlag {
 public:
  void declare(Arguments& arguments);
  /// For LoadOptions::adapters.
  const std::vector<std::string>& paths() const { return paths_; }
  /// For SessionOptions::adapters.
  const std::vector<AdapterUse>& uses() const { return uses_; }
  /// The use that a text names: "NAME" with a scale of 1, or "NAME:SCALE". NAME is the path of a
  /// file as it was given, or its last part without ".gguf". NotFound if no adapter has the name,
  /// Invalid if several have it.
  Result<AdapterUse> find(std::string_view text) const;

 private:
  std::vector<std::string> paths_;
  std::vector<AdapterUse> uses_;
};

}  // namespace shunt::cli
