// The tokens of a text as its readers use them, and its first error.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "cuda/ptx/lexer.h"
#include "cuda/ptx/parser.h"

namespace cuda_twin::ptx {

class Tokens {
 public:
  Tokens(std::string_view text, const ParserLimits& bounds) : lexer_(text), limits(bounds) {}

  const Token& peek(unsigned ahead = 0) const { return lexer_.peek(ahead); }
  Token next() { return lexer_.next(); }
  Line line() const { return peek().line; }
  void skip_line(Line line) { lexer_.skip_line(line); }

  bool at_sign(std::string_view sign) const { return peek().is(Token::Kind::kSign, sign); }
  bool at_dot() const { return peek().kind == Token::Kind::kDot; }
  bool at_word() const { return peek().kind == Token::Kind::kWord; }
  /// True, and consumed, if it is the next token.
  bool take_sign(std::string_view sign);
  bool take_dot(std::string_view name);
  bool expect(std::string_view sign);
  std::optional<std::string_view> expect_word(std::string_view role);
  /// Drops tokens up to the end of a { } or ( ) group whose first sign is next.
  bool skip_group(std::string_view open, std::string_view close);

  /// Keeps the first error. Always false.
  bool fail(std::string reason) { return fail_at(line(), std::move(reason)); }
  bool fail_at(Line line, std::string reason, bool version = false);
  /// "expected ROLE before TOKEN".
  bool unexpected(std::string_view role);
  bool failed() const { return error_.has_value(); }
  const std::optional<SyntaxError>& error() const { return error_; }

 private:
  Lexer lexer_;
  std::optional<SyntaxError> error_;

 public:
  const ParserLimits& limits;
};

}  // namespace cuda_twin::ptx
