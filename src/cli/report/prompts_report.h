// Reports of a file of prompts: each result for people or as a line of JSON, and the summary.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/prompts_file.h"
#include "shunt/batcher.h"

namespace shunt::cli {

/// A prompt that has ended.
struct PromptResult {
  std::size_t index = 0;  ///< of the prompt, from 0
  Prompt prompt;
  std::uint64_t seed = 0;
  std::int64_t prompt_tokens = 0;
  std::vector<std::int32_t> tokens;  ///< those picked
  std::string text;                  ///< the continuation
  BatchResult result;

  bool failed() const { return result.reason == BatchEnd::kFailed; }
};

/// "==> FILE:LINE <==", the prompt and its continuation, each with a line end.
std::string to_plain(const PromptResult& result, const std::string& file);
/// One line, with its end.
std::string to_json_line(const PromptResult& result);

/// The sums of all results, with the model and the session.
struct PromptsReport {
  std::string path;
  ModelInfo model;
  std::int64_t prompts = 0;    ///< in the file
  std::int64_t sequences = 0;  ///< that ran at once
  std::uint64_t seed = 0;
  double load_seconds = 0;
  double seconds = 0;  ///< for all prompts
  SessionMemory memory;
  HostCacheUse host_cache;
  std::uint64_t peak_memory = 0;
  std::vector<std::string> model_notes;    ///< Model::notes()
  std::vector<std::string> session_notes;  ///< Batcher::notes()

  static constexpr std::size_t kEnds = static_cast<std::size_t>(BatchEnd::kFailed) + 1;
  std::array<std::int64_t, kEnds> ended = {};  ///< results by BatchEnd
  // Of those that did not fail.
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t generated_tokens = 0;

  void add(const PromptResult& result);
  std::int64_t failed() const { return ended.back(); }
};

/// A few lines, each with its end.
std::string summary(const PromptsReport& report);

}  // namespace shunt::cli
