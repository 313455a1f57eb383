// The flags of every subcommand that opens devices: they override the environment (SHUNT_*).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "shunt/options.h"

namespace shunt::cli {

class RuntimeFlags {
 public:
  void declare(Arguments& arguments);
  /// Invalid, naming flag or variable.
  Result<Options> options() const;

 private:
  std::optional<int> threads_;
  std::optional<PinThreads> pin_;
  std::map<std::string, std::string> libraries_;
};

/// The parts of "a,b,c". Invalid if one is empty.
Result<std::vector<std::string>> split_list(const std::string& text);

}  // namespace shunt::cli
