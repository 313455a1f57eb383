#include "cuda/ptx/debug.h"

#include <array>

namespace cuda_twin::ptx {
namespace {

bool skip_numbers(Tokens& tokens, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (tokens.peek().kind != Token::Kind::kNumber) return tokens.unexpected("a number");
    tokens.next();
  }
  return true;
}

/// 1 12 0 [, function_name L [+ 4], inlined_at 1 8 0]
bool skip_location(Tokens& tokens) {
  if (!skip_numbers(tokens, 3)) return false;
  while (tokens.take_sign(",")) {
    const bool inlined = tokens.peek().is(Token::Kind::kWord, "inlined_at");
    if (!tokens.expect_word("\"function_name\"")) return false;
    if (inlined) {
      if (!skip_numbers(tokens, 3)) return false;
      continue;
    }
    if (tokens.at_dot()) {
      tokens.next();  // a section
    } else if (!tokens.expect_word("a label")) {
      return false;
    }
    if (tokens.take_sign("+") && !skip_numbers(tokens, 1)) return false;
  }
  return true;
}

/// 1 "name" [, 1234, 5678]
bool skip_file(Tokens& tokens) {
  if (!skip_numbers(tokens, 1)) return false;
  if (tokens.peek().kind != Token::Kind::kString) return tokens.unexpected("a file name");
  tokens.next();
  while (tokens.take_sign(",")) {
    if (!skip_numbers(tokens, 1)) return false;
  }
  return true;
}

bool skip_pragma(Tokens& tokens) {
  do {
    if (tokens.peek().kind != Token::Kind::kString) return tokens.unexpected("a string");
    tokens.next();
  } while (tokens.take_sign(","));
  return tokens.expect(";");
}

/// .debug_info { ... }
bool skip_section(Tokens& tokens) {
  if (tokens.at_dot() || tokens.at_word()) tokens.next();
  return tokens.skip_group("{", "}");
}

struct Row {
  std::string_view name;
  bool (*skip)(Tokens& tokens);
};
constexpr std::array<Row, 4> kRows{{{"loc", skip_location},
                                    {"file", skip_file},
                                    {"pragma", skip_pragma},
                                    {"section", skip_section}}};

const Row* row_of(const Token& token) {
  if (token.kind != Token::Kind::kDot) return nullptr;
  for (const Row& row : kRows) {
    if (row.name == token.text) return &row;
  }
  return nullptr;
}

}  // namespace

bool at_debug(const Tokens& tokens) {
  return row_of(tokens.peek()) != nullptr;
}

bool skip_debug(Tokens& tokens) {
  return row_of(tokens.next())->skip(tokens);
}

}  // namespace cuda_twin::ptx
