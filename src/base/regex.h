// A compiled regular expression over UTF-8: cuts text into its matches and the gaps between them,
// or checks whether it matches a whole text.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "shunt/error.h"

namespace shunt {

/// Const after compile; may be used from many threads.
class Regex {
 public:
  /// Perl syntax with Unicode properties; \s is Unicode's White_Space. Invalid, with the problem
  /// and its place, if the pattern is bad.
  static Result<Regex> compile(std::string_view pattern);

  /// Replaces each of `pieces`, which must be valid UTF-8, by its matches and the gaps between
  /// them, in order; the expression sees each piece alone. Unsupported if matching takes more steps
  /// than the length of the text can explain.
  Status split(std::vector<std::string_view>& pieces) const;
  /// Whether it matches all of `text`, from the first character to the last. Text that is not UTF-8
  /// is not matched. Unsupported as above.
  Result<bool> matches(std::string_view text) const;

 private:
  friend class RegexPieces;
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

/// The matches of a Regex in a text and the gaps between them, one after another. Belongs to one
/// thread at a time.
class RegexPieces {
 public:
  explicit RegexPieces(Regex regex);
  RegexPieces(RegexPieces&&) noexcept;
  ~RegexPieces();

  /// Begins with `text`, which must be valid UTF-8 and live until another begins.
  void start(std::string_view text);
  /// The next piece; empty at the end. Unsupported as Regex::split().
  Result<std::string_view> next();

 private:
  struct Data;
  Regex regex_;
  std::unique_ptr<Data> data_;
  std::string_view text_;
  std::size_t done_ = 0;
  std::size_t match_end_ = 0;  ///< behind done_ if a match was found that is not given out yet
};

}  // namespace shunt
