// The flag `--model`, and its default: the model that comes with Shunt.
#pragma once

#include <optional>
#include <string>

#include "cli/flags/arguments.h"
#include "shunt/error.h"

namespace shunt::cli {

class ModelFile {
 public:
  /// `help`: "Load this GGUF model".
  void declare(Arguments& arguments, const std::string& help);
  bool is_given() const { return given_.has_value(); }
  /// Without the flag it is the one that comes with Shunt. NotFound, with the remedy, if that is
  /// not there.
  Status check();
  /// Prints a line if the default is used, for subcommands whose output does not name the
  /// model.
  void tell_default() const;
  /// Once checked.
  const std::string& path() const { return path_; }

 private:
  std::optional<std::string> given_;
  std::string path_;
};

}  // namespace shunt::cli
