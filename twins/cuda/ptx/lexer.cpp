#include "cuda/ptx/lexer.h"

#include <array>

namespace cuda_twin::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool follows(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}
bool starts_word(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}

std::size_t length_of_word(std::string_view text) {
  std::size_t n = 1;
  while (n < text.size() && follows(text[n])) ++n;
  return n;
}

/// Of a name after a dot, which may have parts: L2::128B.
std::size_t length_of_modifier(std::string_view text) {
  std::size_t n = 0;
  for (;;) {
    while (n < text.size() && follows(text[n])) ++n;
    const bool goes_on =
        n + 2 < text.size() && text[n] == ':' && text[n + 1] == ':' && follows(text[n + 2]);
    if (!goes_on) return n;
    n += 2;
  }
}

constexpr std::array<std::string_view, 8> kPairs{"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
constexpr std::string_view kSigns = "()[]{},;:@!|&^~+-*/%<>=?#";

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) {
  first_ = scan();
  second_ = scan();
}

Token Lexer::next() {
  const Token token = first_;
  first_ = second_;
  second_ = scan();
  return token;
}

void Lexer::skip_line(Line line) {
  while (first_.kind != Token::Kind::kEnd && first_.line == line) next();
}

Token Lexer::take(Token::Kind kind, std::size_t length) {
  const Token token{kind, text_.substr(at_, length), line_};
  at_ += length;
  return token;
}

bool Lexer::skip_comment() {
  if (text_[at_ + 1] == '/') {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    return true;
  }
  const Line start = line_;
  for (at_ += 2; at_ + 1 < text_.size(); ++at_) {
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] == '*' && text_[at_ + 1] == '/') {
      at_ += 2;
      return true;
    }
  }
  at_ = text_.size();
  line_ = start;
  return false;
}

/// False at a comment without an end.
bool Lexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v') {
      ++at_;
      continue;
    }
    const bool comment =
        c == '/' && at_ + 1 < text_.size() && (text_[at_ + 1] == '/' || text_[at_ + 1] == '*');
    if (!comment) return true;
    if (!skip_comment()) return false;
  }
  return true;
}

Token Lexer::string() {
  const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
  if (end == std::string_view::npos || text_[end] == '\n') {
    Token bad = take(Token::Kind::kBad, text_.size() - at_);
    bad.text = "string without an end";
    return bad;
  }
  Token token = take(Token::Kind::kString, end + 1 - at_);
  token.text = token.text.substr(1, token.text.size() - 2);
  return token;
}

/// Digits and letters; a decimal number may have a point and an exponent with a sign.
std::size_t Lexer::length_of_number() const {
  std::size_t n = at_;
  bool decimal = true;
  const auto digits = [&] {
    for (; n < text_.size() && (is_digit(text_[n]) || is_letter(text_[n])); ++n) {
      if (is_digit(text_[n]) || text_[n] == 'e' || text_[n] == 'E') continue;
      decimal = false;
    }
  };
  const auto sign_of_exponent = [&] {
    const bool exponent = decimal && (text_[n - 1] == 'e' || text_[n - 1] == 'E') &&
                          n + 1 < text_.size() && (text_[n] == '+' || text_[n] == '-') &&
                          is_digit(text_[n + 1]);
    if (!exponent) return;
    ++n;
    digits();
  };
  digits();
  if (decimal && n < text_.size() && text_[n] == '.') {
    ++n;
    digits();
  }
  sign_of_exponent();
  return n - at_;
}

Token Lexer::scan() {
  if (!skip_space()) return {Token::Kind::kBad, "comment without an end", line_};
  if (at_ >= text_.size()) return {Token::Kind::kEnd, {}, line_};
  const char c = text_[at_];
  const std::string_view rest = text_.substr(at_);
  const bool word = starts_word(c) && (c != '%' || (rest.size() > 1 && follows(rest[1])));
  if (word) return take(Token::Kind::kWord, length_of_word(rest));
  if (is_digit(c)) return take(Token::Kind::kNumber, length_of_number());
  if (c == '"') return string();
  if (c == '.') {
    const std::size_t length = length_of_modifier(rest.substr(1));
    if (length == 0) return take(Token::Kind::kBad, 1);
    Token token = take(Token::Kind::kDot, length + 1);
    token.text.remove_prefix(1);
    return token;
  }
  for (const std::string_view pair : kPairs) {
    if (rest.starts_with(pair)) return take(Token::Kind::kSign, 2);
  }
  if (kSigns.find(c) != std::string_view::npos) return take(Token::Kind::kSign, 1);
  return take(Token::Kind::kBad, 1);
}

}  // namespace cuda_twin::ptx
