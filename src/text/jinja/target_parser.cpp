#include "text/jinja/target_parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "shunt/message.h"

namespace shunt::text::jinja {

Result<Target> parse_one_target(TokenStream& tokens, bool with_attributes) {
  Target target;
  target.at = tokens.current().at;
  // The lexer bounds how deep brackets are nested.
  if (tokens.skip(TokenKind::kOperator, "(")) {
    SHUNT_ASSIGN(target, parse_target(tokens, with_attributes));
    SHUNT_TRY(tokens.expect(TokenKind::kOperator, ")"));
    return target;
  }
  constexpr std::array<std::string_view, 6> kConstants = {"true", "false", "none",
                                                          "True", "False", "None"};
  SHUNT_ASSIGN(const std::string name, tokens.expect_name());
  if (std::find(kConstants.begin(), kConstants.end(), name) != kConstants.end()) {
    return tokens.fail(target.at, fmt::format("\"{}\" can't be assigned to", name));
  }
  target.name = tokens.id_of(name);
  if (with_attributes && tokens.skip(TokenKind::kOperator, ".")) {
    target.kind = Target::Kind::kAttribute;
    SHUNT_ASSIGN(target.attribute, tokens.expect_name());
  }
  return target;
}

Result<Target> parse_target(TokenStream& tokens, bool with_attributes) {
  Target tuple;
  tuple.kind = Target::Kind::kTuple;
  tuple.at = tokens.current().at;
  bool is_tuple = false;
  while (tokens.is(TokenKind::kName) || tokens.is_operator("(")) {
    if (is_tuple && tokens.is_name("in")) break;
    SHUNT_ASSIGN(Target element, parse_one_target(tokens, with_attributes));
    tuple.elements.push_back(std::move(element));
    if (!tokens.skip(TokenKind::kOperator, ",")) break;
    is_tuple = true;
  }
  if (tuple.elements.empty()) return tokens.unexpected();
  if (!is_tuple) {
    Target only = std::move(tuple.elements.front());
    return only;
  }
  return tuple;
}

void add_names(const Target& target, std::vector<NameId>& names) {
  if (target.kind == Target::Kind::kName) names.push_back(target.name);
  for (const Target& element : target.elements) add_names(element, names);
}

}  // namespace shunt::text::jinja
