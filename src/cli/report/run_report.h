// The report at the end of a run: on stderr for people, on standard output as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/engine.h"

namespace shunt::cli {

struct RunReport {
  std::string path;
  ModelInfo model;
  std::string prompt;
  std::string text;                ///< the continuation
  std::int64_t prompt_tokens = 0;  ///< that were computed
  std::int64_t cached_tokens = 0;  ///< of the prompt, that were not
  GenerateResult result;
  std::uint64_t seed = 0;
  double load_seconds = 0;
  SessionMemory memory;
  std::uint64_t peak_memory = 0;
  std::vector<std::string> model_notes;    ///< Model::notes()
  std::vector<std::string> session_notes;  ///< Session::notes()
};

/// A few lines, each with its end.
std::string summary(const RunReport& report);
std::string to_json(const RunReport& report);

// Parts of summaries.

/// "    64 tokens in 0.016 s, 4030.5 tokens/s".
std::string speed_line(std::int64_t tokens, double seconds);
/// The line "memory".
std::string memory_line(const ModelInfo& model, const SessionMemory& memory, std::uint64_t peak);
/// Lines after a heading. Empty for a single line, which is that of a CPU alone.
std::string note_lines(std::string_view heading, const std::vector<std::string>& notes);

}  // namespace shunt::cli
