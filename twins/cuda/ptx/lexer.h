// The tokens of a PTX text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cuda/ptx/syntax.h"

namespace cuda_twin::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    kEnd,
    kWord,    ///< mad, %r1, $L__BB0_1, _
    kDot,     ///< .global, .L2::128B; the text has no dot
    kNumber,  ///< as written
    kString,  ///< without the quotes
    kSign,    ///< one character, or << >> <= >= == != && ||
    kBad,     ///< a character that PTX does not have, a comment or string without an end
  };
  Kind kind = Kind::kEnd;
  std::string_view text;
  Line line = 1;
  bool is(Kind which, std::string_view what) const { return kind == which && text == what; }
};

/// One token at a time, with two of look-ahead.
class Lexer {
 public:
  explicit Lexer(std::string_view text);
  const Token& peek(unsigned ahead = 0) const { return ahead == 0 ? first_ : second_; }
  Token next();
  /// Drops the rest of this line.
  void skip_line(Line line);

 private:
  Token scan();
  bool skip_space();
  bool skip_comment();
  Token take(Token::Kind kind, std::size_t length);
  Token string();
  std::size_t length_of_number() const;

  std::string_view text_;
  std::size_t at_ = 0;
  Line line_ = 1;
  Token first_, second_;
};

/// The value of a number token; an error's text in `problem`.
Literal literal_of(std::string_view number, std::string& problem);

}  // namespace cuda_twin::ptx
