// --prompt-cache FILE: the prompt of an earlier run, with its cache rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cli/flags/arguments.h"
#include "shunt/engine.h"

namespace shunt::cli {

class PromptCache {
 public:
  void declare(Arguments& arguments);
  bool is_given() const { return path_.has_value(); }
  /// Gives a session the first tokens of a prompt that the file has, never the last one. Their
  /// number; 0 if there is no file. The errors of Session::restore().
  Result<std::int64_t> restore(Session& session, std::span<const std::int32_t> prompt);
  /// Writes a prompt that the session begins with, unless the file has just that.
  Status save(Session& session, std::span<const std::int32_t> prompt) const;

 private:
  std::optional<std::string> path_;
  bool is_in_file_ = false;
};

}  // namespace shunt::cli
