// `shunt run --prompts`: the prompts of a file, computed together.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/flags/model_flags.h"
#include "cli/flags/prompts_file.h"
#include "cli/flags/trace_file.h"
#include "cli/terminal/output.h"
#include "shunt/batcher.h"

namespace shunt::cli {

/// The flags of `shunt run` that concern a file of prompts.
struct PromptsRun {
  const PromptsFile& file;
  ModelFlags& model;  ///< the context of its session is that of each prompt
  TraceFile& trace;
  /// Of each prompt. Its seed is that of the first one; that of each other one is larger by its
  /// index.
  BatchRequest request;
  std::int64_t parallel = 0;  ///< prompts at once, at most; 0: BatcherOptions' own
  bool json = false;
};

/// Prints each result: in the order of the file, or as JSON when it is there. A prompt that fails
/// is an error at the end; the others are computed.
Status run_prompts(const PromptsRun& run, Output& output);

}  // namespace shunt::cli
