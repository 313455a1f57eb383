// A compiled regular expression over UTF-8 that cuts text into its matches and what lies between
// them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "shunt/error.h"

namespace shunt::text {

/// Const after compile; may be used from many threads.
class Regex {
 public:
  /// Perl syntax with Unicode properties; \s is Unicode's White_Space. Internal if the pattern is
  /// bad: patterns are ours.
  static Result<Regex> compile(std::string_view pattern);

  /// Replaces each of `pieces`, which must be valid UTF-8, by its matches and the gaps between
  /// them, in order; the expression sees each piece alone. Unsupported if matching takes more steps
  /// than the length of the text can explain.
  Status split(std::vector<std::string_view>& pieces) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace shunt::text
