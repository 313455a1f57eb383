#include "text/jinja/expression_parser.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"

namespace shunt::text::jinja {
namespace {

constexpr int kMostDepth = 100;
/// Operators, elements, calls and filters of one level: each is a level of the tree.
constexpr int kMostLinks = 200;

/// Binary operators, the loosest first; "~" has a rule of its own between the first two.
constexpr std::array<std::string_view, 3> kArithmeticLevels = {"+ -", "* / // %", "**"};

bool has_symbol(std::string_view level, std::string_view symbol) {
  while (!level.empty()) {
    const std::size_t end = std::min(level.find(' '), level.size());
    if (level.substr(0, end) == symbol) return true;
    level.remove_prefix(std::min(end + 1, level.size()));
  }
  return false;
}

struct NamedConstant {
  std::string_view name;
  Value::Variant value;
};
const std::array<NamedConstant, 6>& named_constants() {
  static const std::array<NamedConstant, 6> constants = {{{"true", true},
                                                          {"True", true},
                                                          {"false", false},
                                                          {"False", false},
                                                          {"none", None{}},
                                                          {"None", None{}}}};
  return constants;
}

}  // namespace

Result<ExpressionPointer> ExpressionParser::deeper(Rule rule) {
  if (depth_ >= kMostDepth) {
    return tokens_.fail(tokens_.current().at,
                        fmt::format("expressions are nested more than {} deep", kMostDepth));
  }
  ++depth_;
  auto result = (this->*rule)();
  --depth_;
  return result;
}

Result<ExpressionPointer> ExpressionParser::parse_expression() {
  return deeper(&ExpressionParser::parse_choice);
}

Result<ExpressionPointer> ExpressionParser::parse_choice() {
  SHUNT_ASSIGN(ExpressionPointer value, parse_or());
  for (int links = 0; tokens_.is_name("if"); ++links) {
    if (links == kMostLinks) return tokens_.unexpected();
    auto choice = std::make_unique<Choice>(tokens_.take().at);
    choice->then = std::move(value);
    SHUNT_ASSIGN(choice->condition, parse_or());
    if (tokens_.skip(TokenKind::kName, "else")) {
      SHUNT_ASSIGN(choice->otherwise, parse_expression());
    }
    value = std::move(choice);
  }
  return value;
}

Result<ExpressionPointer> ExpressionParser::parse_or() {
  SHUNT_ASSIGN(ExpressionPointer left, parse_and());
  for (int links = 0; tokens_.is_name("or"); ++links) {
    if (links == kMostLinks) return tokens_.unexpected();
    auto logic = std::make_unique<Logic>(tokens_.take().at);
    logic->left = std::move(left);
    SHUNT_ASSIGN(logic->right, parse_and());
    left = std::move(logic);
  }
  return left;
}

Result<ExpressionPointer> ExpressionParser::parse_and() {
  SHUNT_ASSIGN(ExpressionPointer left, deeper(&ExpressionParser::parse_not));
  for (int links = 0; tokens_.is_name("and"); ++links) {
    if (links == kMostLinks) return tokens_.unexpected();
    auto logic = std::make_unique<Logic>(tokens_.take().at);
    logic->is_and = true;
    logic->left = std::move(left);
    SHUNT_ASSIGN(logic->right, deeper(&ExpressionParser::parse_not));
    left = std::move(logic);
  }
  return left;
}

Result<ExpressionPointer> ExpressionParser::parse_not() {
  if (!tokens_.is_name("not")) return parse_comparison();
  auto negation = std::make_unique<NotUse>(tokens_.take().at);
  SHUNT_ASSIGN(negation->operand, deeper(&ExpressionParser::parse_not));
  return negation;
}

Result<ExpressionPointer> ExpressionParser::parse_comparison() {
  SHUNT_ASSIGN(ExpressionPointer first, parse_arithmetic(0));
  auto comparison = std::make_unique<Comparison>(first->at);
  while (true) {
    BinaryOperator compare = nullptr;
    if (tokens_.is(TokenKind::kOperator)) {
      compare = find_comparison(tokens_.current().text);
    } else if (tokens_.is_name("in")) {
      compare = contains;
    } else if (tokens_.is_name("not") && tokens_.following().kind == TokenKind::kName &&
               tokens_.following().text == "in") {
      tokens_.take();
      compare = contains_not;
    }
    if (compare == nullptr) break;
    tokens_.take();
    SHUNT_ASSIGN(ExpressionPointer other, parse_arithmetic(0));
    comparison->others.emplace_back(compare, std::move(other));
  }
  if (comparison->others.empty()) return first;
  comparison->first = std::move(first);
  return comparison;
}

Result<ExpressionPointer> ExpressionParser::parse_arithmetic(std::size_t level) {
  const auto operand = [&]() -> Result<ExpressionPointer> {
    if (level == 0) return parse_concatenation();
    if (level + 1 < kArithmeticLevels.size()) return parse_arithmetic(level + 1);
    return parse_unary(true);
  };
  SHUNT_ASSIGN(ExpressionPointer left, operand());
  for (int links = 0; tokens_.is(TokenKind::kOperator) &&
                      has_symbol(kArithmeticLevels[level], tokens_.current().text);
       ++links) {
    if (links == kMostLinks) return tokens_.unexpected();
    auto arithmetic = std::make_unique<Arithmetic>(tokens_.current().at);
    arithmetic->apply = find_arithmetic(tokens_.take().text);
    arithmetic->left = std::move(left);
    SHUNT_ASSIGN(arithmetic->right, operand());
    left = std::move(arithmetic);
  }
  return left;
}

Result<ExpressionPointer> ExpressionParser::parse_concatenation() {
  SHUNT_ASSIGN(ExpressionPointer first, parse_arithmetic(1));
  if (!tokens_.is_operator("~")) return first;
  auto concatenation = std::make_unique<Concatenation>(first->at);
  concatenation->parts.push_back(std::move(first));
  while (tokens_.skip(TokenKind::kOperator, "~")) {
    SHUNT_ASSIGN(ExpressionPointer part, parse_arithmetic(1));
    concatenation->parts.push_back(std::move(part));
  }
  return concatenation;
}

Result<ExpressionPointer> ExpressionParser::parse_sign() {
  auto sign = std::make_unique<SignUse>(tokens_.current().at);
  sign->negates = tokens_.take().text == "-";
  SHUNT_ASSIGN(sign->operand, parse_unary(false));
  return sign;
}

Result<ExpressionPointer> ExpressionParser::parse_unary(bool with_filters) {
  const bool is_signed = tokens_.is_operator("-") || tokens_.is_operator("+");
  SHUNT_ASSIGN(ExpressionPointer value,
               is_signed ? deeper(&ExpressionParser::parse_sign) : parse_primary());
  SHUNT_ASSIGN(value, parse_postfix(std::move(value)));
  return with_filters ? parse_with_filters(std::move(value)) : std::move(value);
}

Result<ExpressionPointer> ExpressionParser::parse_primary() {
  if (tokens_.is(TokenKind::kName)) return parse_name();
  if (tokens_.is(TokenKind::kString)) return parse_string();
  if (tokens_.is(TokenKind::kInteger) || tokens_.is(TokenKind::kFloat)) return parse_number();
  if (tokens_.is_operator("[")) return parse_list();
  if (tokens_.is_operator("{")) return parse_mapping();
  if (!tokens_.skip(TokenKind::kOperator, "(")) return tokens_.unexpected();
  SHUNT_ASSIGN(ExpressionPointer value, parse_tuple(true, true));
  SHUNT_TRY(tokens_.expect(TokenKind::kOperator, ")"));
  return value;
}

Result<ExpressionPointer> ExpressionParser::parse_name() {
  const TemplateToken& token = tokens_.take();
  for (const NamedConstant& constant : named_constants()) {
    if (constant.name == token.text) {
      return std::make_unique<Constant>(token.at, Value(constant.value));
    }
  }
  auto use = std::make_unique<NameUse>(token.at);
  use->name = token.text;
  use->id = tokens_.id_of(token.text);
  frames_.load(use->id);
  used_.caller |= token.text == "caller";
  used_.varargs |= token.text == "varargs";
  used_.kwargs |= token.text == "kwargs";
  return use;
}

Result<ExpressionPointer> ExpressionParser::parse_string() {
  const std::size_t at = tokens_.current().at;
  std::string text;
  while (tokens_.is(TokenKind::kString)) text += tokens_.take().text;
  return std::make_unique<Constant>(at, Value::text(std::move(text), true));
}

Result<ExpressionPointer> ExpressionParser::parse_number() {
  const TemplateToken& token = tokens_.take();
  std::string_view digits = token.text;
  if (token.kind == TokenKind::kFloat) {
    double number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    // Beyond the largest one it is infinite, below the smallest one 0.
    if (read.ec != std::errc()) number = std::strtod(token.text.c_str(), nullptr);
    return std::make_unique<Constant>(token.at, Value(number));
  }
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] < '0' || digits[1] > '9')) {
    const char letter = digits[1];
    base = letter == 'x' || letter == 'X' ? 16 : letter == 'o' || letter == 'O' ? 8 : 2;
    digits.remove_prefix(2);
  }
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  // As many digits as Python reads.
  constexpr std::size_t kMostDigits = 4300;
  if (error == std::errc::result_out_of_range && base == 10 && digits.size() <= kMostDigits)
    return std::make_unique<Constant>(token.at, integer_value(std::string(digits)));
  if (error != std::errc() || end != digits.data() + digits.size())
    return tokens_.fail(token.at, "integers are limited to 64 bits");
  return std::make_unique<Constant>(token.at, Value(number));
}

Result<ExpressionPointer> ExpressionParser::parse_tuple(bool with_choice, bool in_brackets) {
  const std::size_t at = tokens_.current().at;
  const auto is_end = [&] {
    return tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) ||
           tokens_.is_operator(")") || (!with_choice && tokens_.is_name("recursive"));
  };
  auto tuple = std::make_unique<SequenceDisplay>(at);
  tuple->kind = Sequence::Kind::kTuple;
  bool is_tuple = false;
  while (!is_end()) {
    SHUNT_ASSIGN(ExpressionPointer item, with_choice ? parse_expression() : parse_or());
    tuple->items.push_back(std::move(item));
    if (!tokens_.skip(TokenKind::kOperator, ",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !tuple->items.empty()) return std::move(tuple->items.front());
  if (!is_tuple && !in_brackets) return tokens_.unexpected();
  return tuple;
}

Result<ExpressionPointer> ExpressionParser::parse_list() {
  auto list = std::make_unique<SequenceDisplay>(tokens_.take().at);
  while (!tokens_.is_operator("]")) {
    if (!list->items.empty()) SHUNT_TRY(tokens_.expect(TokenKind::kOperator, ","));
    if (tokens_.is_operator("]")) break;
    SHUNT_ASSIGN(ExpressionPointer item, parse_expression());
    list->items.push_back(std::move(item));
  }
  tokens_.take();
  return list;
}

Result<ExpressionPointer> ExpressionParser::parse_mapping() {
  auto mapping = std::make_unique<MappingDisplay>(tokens_.take().at);
  while (!tokens_.is_operator("}")) {
    if (!mapping->entries.empty()) SHUNT_TRY(tokens_.expect(TokenKind::kOperator, ","));
    if (tokens_.is_operator("}")) break;
    SHUNT_ASSIGN(ExpressionPointer key, parse_expression());
    SHUNT_TRY(tokens_.expect(TokenKind::kOperator, ":"));
    SHUNT_ASSIGN(ExpressionPointer value, parse_expression());
    mapping->entries.emplace_back(std::move(key), std::move(value));
  }
  tokens_.take();
  return mapping;
}

Result<ExpressionPointer> ExpressionParser::parse_postfix(ExpressionPointer operand) {
  for (int links = 0; links < kMostLinks; ++links) {
    if (tokens_.is_operator(".")) {
      SHUNT_ASSIGN(operand, parse_attribute(std::move(operand)));
    } else if (tokens_.is_operator("[")) {
      SHUNT_ASSIGN(operand, parse_item(std::move(operand)));
    } else if (tokens_.is_operator("(")) {
      SHUNT_ASSIGN(operand, parse_call(std::move(operand)));
    } else {
      return operand;
    }
  }
  return tokens_.unexpected();
}

Result<ExpressionPointer> ExpressionParser::parse_with_filters(ExpressionPointer operand) {
  for (int links = 0; links < kMostLinks; ++links) {
    if (tokens_.skip(TokenKind::kOperator, "|")) {
      SHUNT_ASSIGN(operand, parse_filter(std::move(operand)));
    } else if (tokens_.is_name("is")) {
      SHUNT_ASSIGN(operand, parse_test(std::move(operand)));
    } else if (tokens_.is_operator("(")) {
      SHUNT_ASSIGN(operand, parse_call(std::move(operand)));
    } else {
      return operand;
    }
  }
  return tokens_.unexpected();
}

}  // namespace shunt::text::jinja
