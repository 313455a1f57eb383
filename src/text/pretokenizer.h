// Cuts text into the words that byte-level BPE merges within.
#pragma once

#include <string_view>
#include <vector>

#include "base/regex.h"
#include "shunt/error.h"
#include "text/pretokenizer_table.h"

namespace shunt::text {

class Pretokenizer {
 public:
  /// The rule that has `name`. Unsupported if none has, naming those there are.
  static Result<Pretokenizer> create(std::string_view name);
  static Result<Pretokenizer> compile(const PretokenizerRule& rule);

  /// The words of `text`, which must be valid UTF-8, in order and without gaps.
  Result<std::vector<std::string_view>> split(std::string_view text) const;

  /// The same words one after another.
  class Words {
   public:
    Words(const Pretokenizer& pretokenizer, std::string_view text);
    /// The next word; empty at the end.
    Result<std::string_view> next();

   private:
    std::vector<RegexPieces> levels_;  ///< of one expression each
    std::size_t level_ = 0;            ///< the one that has the next piece
  };
  const PretokenizerRule& rule() const { return rule_; }

 private:
  Pretokenizer(const PretokenizerRule& rule, std::vector<Regex> expressions)
      : rule_(rule), expressions_(std::move(expressions)) {}
  PretokenizerRule rule_;
  std::vector<Regex> expressions_;
};

}  // namespace shunt::text
