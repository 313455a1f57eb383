// The flag `--prompts FILE`: a file of prompts, one in each line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/arguments.h"
#include "shunt/error.h"

namespace shunt::cli {

/// A line of the file. An option that is not given there is that of the command line.
struct Prompt {
  std::int64_t line = 0;  ///< in the file, from 1
  std::string text = {};
  std::optional<std::int64_t> max_tokens = {};
  std::optional<float> temperature = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<std::vector<std::string>> adapters = {};  ///< for LoraFlag::find()
};

/// The prompts of a text: each line that is not empty. The line end is LF or CR LF. `json`: each
/// line is a JSON object with "prompt", and optional "max_tokens", "temperature", "seed" and
/// "adapters".
/// BadFile, with `name` and the line, for any other content, and if there is no prompt.
Result<std::vector<Prompt>> parse_prompts(const std::string& name, std::string_view text,
                                          bool json);

class PromptsFile {
 public:
  void declare(Arguments& arguments);
  /// The path; none if the flag is not given.
  const std::optional<std::string>& path() const { return path_; }
  /// The path, or "standard input". Only if given.
  std::string name() const;
  /// parse_prompts() of the file or of standard input, JSON if its name ends in ".jsonl". NotFound
  /// or Io if it can't be read. Invalid UTF-8 becomes U+FFFD, with a warning.
  Result<std::vector<Prompt>> read() const;

 private:
  std::optional<std::string> path_;
};

}  // namespace shunt::cli
