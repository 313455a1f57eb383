// Which model: the flag `--model`, and the one that comes with Shunt.
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
  /// A line that says so if it is the default; for subcommands that do not name the model
  /// otherwise.
  void tell_default() const;
  /// Once checked.
  const std::string& path() const { return path_; }

 private:
  std::optional<std::string> given_;
  std::string path_;
};

}  // namespace shunt::cli
