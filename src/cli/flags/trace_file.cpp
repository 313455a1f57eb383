#include "cli/flags/trace_file.h"

#include <fmt/format.h>

#include "cli/report/explanation.h"
#include "cli/report/trace_json.h"
#include "cli/terminal/output.h"
#include "shunt/message.h"

namespace shunt::cli {

void TraceFile::declare(Arguments& arguments) {
  arguments.output("--trace",
                   "Write a trace of all devices, to be opened at https://ui.perfetto.dev",
                   OutputFormat::kText, path_);
}

Status TraceFile::open() {
  if (!path_) return ok();
  if (path_ != kStandardStream) {
    SHUNT_ASSIGN(OutputFile file, OutputFile::create(*path_, WriteTo::kAnything));
    // A killed process would leave a temporary file behind, so write() creates it again.
    if (file.in_place()) file_.emplace(std::move(file));
  }
  SHUNT_ASSIGN(trace_, Trace::create());
  return ok();
}

Status TraceFile::write(Output& output) {
  if (!trace_) return ok();
  const std::string json = to_trace_json(*trace_);
  if (file_) {
    SHUNT_TRY(file_->write(std::as_bytes(std::span(json))));
    SHUNT_TRY(file_->commit());
  } else {
    SHUNT_TRY(output.write_file(*path_, json));
  }
  std::string line = fmt::format("{}: {}", *path_, counted(trace_->spans().size(), "span"));
  if (const std::uint64_t left_out = trace_->left_out(); left_out > 0)
    line += fmt::format("; the trace was full, so {} later spans are missing", left_out);
  print_message(line);
  return ok();
}

}  // namespace shunt::cli
