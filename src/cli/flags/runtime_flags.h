// The flags of every subcommand that opens devices: they override the environment (SHUNT_*).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/arguments.h"
#include "shunt/options.h"
#include "shunt/registry.h"

namespace shunt::cli {

class RuntimeFlags {
 public:
  void declare(Arguments& arguments);
  /// Only `--threads`, for subcommands that open no device.
  void declare_threads(Arguments& arguments);
  /// Invalid, naming flag or variable.
  Result<Options> options() const;

 private:
  /// The files that the options may load as code: libraries, and plugins in folders.
  std::vector<std::string> code_files() const;

  std::optional<int> threads_;
  std::optional<PinThreads> pin_;
  bool deterministic_ = false;
  std::map<std::string, std::string> libraries_;
  std::map<std::string, std::map<std::string, std::string>> backend_options_;
};

/// The registry of these options. Prints a line with the reason for each backend that has a library
/// or an option, but is not available.
Result<std::unique_ptr<Registry>> open_registry(const Options& options);

/// The parts of "a,b,c". Invalid if one is empty.
Result<std::vector<std::string>> split_list(const std::string& text);

}  // namespace shunt::cli
