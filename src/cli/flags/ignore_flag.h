// The flag `--ignore`: parts of a model's file that are left aside.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/arguments.h"

namespace shunt::cli {

class IgnoreFlag {
 public:
  void declare(Arguments& arguments);
  /// For LoadOptions::ignore.
  const std::vector<std::string>& names() const { return names_; }
  /// Prints a line with the names, if there are any.
  void tell() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace shunt::cli
