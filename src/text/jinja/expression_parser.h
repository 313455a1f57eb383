// The grammar of expressions.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/jinja/name_frames.h"
#include "text/jinja/syntax.h"
#include "text/jinja/token_stream.h"

namespace shunt::text::jinja {

/// Names that a macro's body uses decide about its parameters.
struct UsedNames {
  bool caller = false, varargs = false, kwargs = false;
};

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, NameFrames& frames) : tokens_(tokens), frames_(frames) {}

  Result<ExpressionPointer> parse_expression();
  /// Without `a if b else c`.
  Result<ExpressionPointer> parse_or();
  /// An expression, or several with commas between them, which are a tuple.
  Result<ExpressionPointer> parse_tuple(bool with_choice = true, bool in_brackets = false);
  /// "| name(arguments)", as often as there is one; with `bare` the first has no "|".
  Result<std::vector<std::unique_ptr<const BuiltinUse>>> parse_filters(bool bare);

  /// Unknown filters and tests are errors in here only when they are reached.
  void enter_condition() { ++conditions_; }
  void leave_condition() { --conditions_; }
  UsedNames& used_names() { return used_; }

 private:
  using Rule = Result<ExpressionPointer> (ExpressionParser::*)();

  Result<ExpressionPointer> parse_choice();
  Result<ExpressionPointer> parse_and();
  Result<ExpressionPointer> parse_not();
  Result<ExpressionPointer> parse_comparison();
  Result<ExpressionPointer> parse_arithmetic(std::size_t level);
  Result<ExpressionPointer> parse_concatenation();
  Result<ExpressionPointer> parse_unary(bool with_filters);
  Result<ExpressionPointer> parse_sign();
  Result<ExpressionPointer> parse_primary();
  Result<ExpressionPointer> parse_number();
  Result<ExpressionPointer> parse_name();
  Result<ExpressionPointer> parse_string();
  Result<ExpressionPointer> parse_list();
  Result<ExpressionPointer> parse_mapping();
  Result<ExpressionPointer> parse_postfix(ExpressionPointer operand);
  Result<ExpressionPointer> parse_with_filters(ExpressionPointer operand);
  Result<ExpressionPointer> parse_attribute(ExpressionPointer object);
  Result<ExpressionPointer> parse_item(ExpressionPointer object);
  Result<ExpressionPointer> parse_call(ExpressionPointer callee);
  Result<std::unique_ptr<BuiltinUse>> parse_filter(ExpressionPointer operand);
  Result<ExpressionPointer> parse_test(ExpressionPointer operand);
  Result<ArgumentList> parse_arguments();
  Status parse_argument(ArgumentList& arguments);
  Result<ExpressionPointer> parse_slice_part();
  Result<std::string> parse_dotted_name();
  Result<ExpressionPointer> deeper(Rule rule);
  Status known(const BuiltinUse& use) const;

  TokenStream& tokens_;
  NameFrames& frames_;
  UsedNames used_;
  int conditions_ = 0;
  int depth_ = 0;
};

}  // namespace shunt::text::jinja
