// --trace FILE: the times of all work, as a file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/flags/arguments.h"
#include "cli/terminal/output.h"
#include "shunt/files.h"
#include "shunt/trace.h"

namespace shunt::cli {

class TraceFile {
 public:
  void declare(Arguments& arguments);
  /// Starts recording if a file was asked for. An error if it can't be written.
  Status open();
  /// Null if there is no file.
  const std::shared_ptr<Trace>& trace() const { return trace_; }
  /// A span of the host from here to the end of the scope.
  TraceScope scope(const char* name) const {
    return TraceScope(trace_.get(), trace_ ? trace_->declare_host(name) : 0);
  }
  /// Writes all spans so far, and prints a line about it.
  Status write(Output& output);

 private:
  std::optional<std::string> path_;
  std::optional<OutputFile> file_;  // written in place, and opened before the run
  std::shared_ptr<Trace> trace_;
};

}  // namespace shunt::cli
