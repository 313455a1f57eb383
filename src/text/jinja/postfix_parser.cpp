// The grammar behind an operand: elements, calls, filters, tests.
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/expression_parser.h"

namespace shunt::text::jinja {

Result<ExpressionPointer> ExpressionParser::parse_attribute(ExpressionPointer object) {
  tokens_.take();
  const TemplateToken& token = tokens_.current();
  if (token.kind == TokenKind::kInteger) {
    auto use = std::make_unique<ItemUse>(token.at);
    use->object = std::move(object);
    SHUNT_ASSIGN(use->index, parse_number());
    return use;
  }
  auto use = std::make_unique<AttributeUse>(token.at);
  use->object = std::move(object);
  SHUNT_ASSIGN(use->name, tokens_.expect_name());
  return use;
}

/// A part of a slice, which may be empty.
Result<ExpressionPointer> ExpressionParser::parse_slice_part() {
  if (tokens_.is_operator(":") || tokens_.is_operator("]")) return ExpressionPointer();
  return parse_expression();
}

Result<ExpressionPointer> ExpressionParser::parse_item(ExpressionPointer object) {
  const std::size_t at = tokens_.take().at;
  SHUNT_ASSIGN(ExpressionPointer first, parse_slice_part());
  if (!tokens_.skip(TokenKind::kOperator, ":")) {
    if (first == nullptr) return tokens_.unexpected();
    auto use = std::make_unique<ItemUse>(at);
    use->object = std::move(object);
    use->index = std::move(first);
    SHUNT_TRY(tokens_.expect(TokenKind::kOperator, "]"));
    return use;
  }
  auto use = std::make_unique<SliceUse>(at);
  use->object = std::move(object);
  use->start = std::move(first);
  SHUNT_ASSIGN(use->stop, parse_slice_part());
  if (tokens_.skip(TokenKind::kOperator, ":")) {
    SHUNT_ASSIGN(use->step, parse_slice_part());
  }
  SHUNT_TRY(tokens_.expect(TokenKind::kOperator, "]"));
  return use;
}

Result<ExpressionPointer> ExpressionParser::parse_call(ExpressionPointer callee) {
  auto call = std::make_unique<CallUse>(tokens_.current().at);
  call->attribute = dynamic_cast<const AttributeUse*>(callee.get());
  call->callee = std::move(callee);
  SHUNT_ASSIGN(call->arguments, parse_arguments());
  return call;
}

Status ExpressionParser::parse_argument(ArgumentList& arguments) {
  const TemplateToken& token = tokens_.current();
  const bool is_named = token.kind == TokenKind::kName &&
                        tokens_.following().kind == TokenKind::kOperator &&
                        tokens_.following().text == "=";
  if (arguments.named_rest != nullptr) return tokens_.unexpected();
  if (tokens_.skip(TokenKind::kOperator, "**")) {
    SHUNT_ASSIGN(arguments.named_rest, parse_expression());
  } else if (is_named) {
    std::string name = tokens_.take().text;
    tokens_.take();
    SHUNT_ASSIGN(ExpressionPointer value, parse_expression());
    arguments.named.emplace_back(std::move(name), std::move(value));
  } else if (arguments.rest != nullptr) {
    return tokens_.unexpected();
  } else if (tokens_.skip(TokenKind::kOperator, "*")) {
    SHUNT_ASSIGN(arguments.rest, parse_expression());
  } else if (!arguments.named.empty()) {
    return tokens_.fail(token.at, "an argument without a name follows one with a name");
  } else {
    SHUNT_ASSIGN(ExpressionPointer value, parse_expression());
    arguments.positional.push_back(std::move(value));
  }
  return ok();
}

Result<ArgumentList> ExpressionParser::parse_arguments() {
  ArgumentList arguments;
  tokens_.take();
  while (!tokens_.is_operator(")")) {
    SHUNT_TRY(parse_argument(arguments));
    if (!tokens_.is_operator(")")) SHUNT_TRY(tokens_.expect(TokenKind::kOperator, ","));
  }
  tokens_.take();
  return arguments;
}

Result<std::string> ExpressionParser::parse_dotted_name() {
  SHUNT_ASSIGN(std::string name, tokens_.expect_name());
  while (tokens_.skip(TokenKind::kOperator, ".")) {
    SHUNT_ASSIGN(const std::string part, tokens_.expect_name());
    name += "." + part;
  }
  return name;
}

Status ExpressionParser::known(const BuiltinUse& use) const {
  if (use.builtin != nullptr || conditions_ > 0) return ok();
  return tokens_.fail(
      use.at, fmt::format("there is no {} \"{}\"", use.is_filter ? "filter" : "test", use.name));
}

Result<std::unique_ptr<BuiltinUse>> ExpressionParser::parse_filter(ExpressionPointer operand) {
  auto use = std::make_unique<BuiltinUse>(tokens_.current().at);
  use->operand = std::move(operand);
  SHUNT_ASSIGN(use->name, parse_dotted_name());
  use->builtin = find_filter(use->name);
  SHUNT_TRY(known(*use));
  if (tokens_.is_operator("(")) {
    SHUNT_ASSIGN(use->arguments, parse_arguments());
  }
  return use;
}

Result<std::vector<std::unique_ptr<const BuiltinUse>>> ExpressionParser::parse_filters(bool bare) {
  std::vector<std::unique_ptr<const BuiltinUse>> filters;
  while (bare || tokens_.skip(TokenKind::kOperator, "|")) {
    bare = false;
    SHUNT_ASSIGN(auto use, parse_filter(nullptr));
    filters.push_back(std::move(use));
  }
  return filters;
}

Result<ExpressionPointer> ExpressionParser::parse_test(ExpressionPointer operand) {
  auto use = std::make_unique<BuiltinUse>(tokens_.take().at);
  use->is_filter = false;
  use->operand = std::move(operand);
  const bool negates = tokens_.skip(TokenKind::kName, "not");
  SHUNT_ASSIGN(use->name, parse_dotted_name());
  use->builtin = find_test(use->name);
  SHUNT_TRY(known(*use));
  const bool starts_value =
      tokens_.is(TokenKind::kString) || tokens_.is(TokenKind::kInteger) ||
      tokens_.is(TokenKind::kFloat) || tokens_.is_operator("[") || tokens_.is_operator("{") ||
      (tokens_.is(TokenKind::kName) && !tokens_.is_one_of({"else", "or", "and"}));
  if (tokens_.is_operator("(")) {
    SHUNT_ASSIGN(use->arguments, parse_arguments());
  } else if (tokens_.is_name("is")) {
    return tokens_.fail(tokens_.current().at, "tests can't be chained");
  } else if (starts_value) {
    SHUNT_ASSIGN(ExpressionPointer argument, parse_primary());
    SHUNT_ASSIGN(argument, parse_postfix(std::move(argument)));
    use->arguments.positional.push_back(std::move(argument));
  }
  if (!negates) return use;
  auto negation = std::make_unique<NotUse>(use->at);
  negation->operand = std::move(use);
  return negation;
}

}  // namespace shunt::text::jinja
