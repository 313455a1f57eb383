// The parts of every subcommand: a name, flags, a check of the request, and the work.
#pragma once

#include <memory>
#include <string_view>

#include "cli/flags/arguments.h"
#include "cli/terminal/output.h"
#include "shunt/error.h"

namespace shunt::cli {

/// How a subcommand is called, in one line for the overview and with examples for its own help.
struct CommandInfo {
  std::string_view name;  ///< one word, or two: "bench model"
  std::string_view summary;
  std::string_view examples;  ///< whole lines, the last one without its end
};

/// One call of a subcommand: declare(), then check(), then run(), each at most once.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  virtual const CommandInfo& info() const = 0;
  /// Names the flags and where their values go.
  virtual void declare(Arguments& arguments) = 0;
  /// Checks the request. Its errors are wrong usage: exit code 2.
  virtual Status check() { return ok(); }
  /// Runs the command. Its errors are of a file, a model or a device: exit code 1; kCancelled after
  /// a signal N is 128 + N, without a message.
  virtual Status run(Output& output) = 0;
};

using MakeCommand = std::unique_ptr<Command> (*)();

}  // namespace shunt::cli
