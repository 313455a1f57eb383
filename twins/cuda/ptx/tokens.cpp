#include "cuda/ptx/tokens.h"

namespace cuda_twin::ptx {

bool Tokens::take_sign(std::string_view sign) {
  if (!at_sign(sign)) return false;
  next();
  return true;
}

bool Tokens::take_dot(std::string_view name) {
  if (!peek().is(Token::Kind::kDot, name)) return false;
  next();
  return true;
}

bool Tokens::expect(std::string_view sign) {
  return take_sign(sign) || unexpected("\"" + std::string(sign) + "\"");
}

std::optional<std::string_view> Tokens::expect_word(std::string_view role) {
  if (at_word()) return next().text;
  unexpected(role);
  return std::nullopt;
}

bool Tokens::skip_group(std::string_view open, std::string_view close) {
  if (!expect(open)) return false;
  for (unsigned depth = 1; depth > 0; next()) {
    const Token& token = peek();
    if (token.kind == Token::Kind::kEnd || token.kind == Token::Kind::kBad) {
      return unexpected("\"" + std::string(close) + "\"");
    }
    if (token.is(Token::Kind::kSign, open)) ++depth;
    if (token.is(Token::Kind::kSign, close)) --depth;
  }
  return true;
}

bool Tokens::fail_at(Line line, std::string reason, bool version) {
  if (!error_) error_ = SyntaxError{line, std::move(reason), version};
  return false;
}

bool Tokens::unexpected(std::string_view role) {
  const Token& token = peek();
  if (token.kind == Token::Kind::kEnd) {
    return fail("expected " + std::string(role) + " before the end of the text");
  }
  const std::string dot = token.kind == Token::Kind::kDot ? "." : "";
  return fail("expected " + std::string(role) + " before \"" + dot + shown(token.text) + "\"");
}

}  // namespace cuda_twin::ptx
