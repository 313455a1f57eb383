#include "text/jinja/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/name_frames.h"
#include "text/jinja/target_parser.h"
#include "text/jinja/token_stream.h"

namespace shunt::text::jinja {
namespace {

constexpr int kMostBlocks = 100;

/// The grammar of statements.
class StatementParser {
 public:
  explicit StatementParser(TokenStream& tokens) : tokens_(tokens), expressions_(tokens, frames_) {}

  Result<Body> parse_all() {
    SHUNT_ASSIGN(Body body, parse_until({}));
    frames_.end(body);
    frames_.resolve();
    return body;
  }

 private:
  using StatementPointer = std::unique_ptr<const Statement>;
  using Names = std::initializer_list<std::string_view>;
  struct Tag {
    std::string_view name;
    Result<StatementPointer> (StatementParser::*parse)(std::size_t at);
  };
  static const std::array<Tag, 11> kTags;

  /// Statements up to a tag of one of these names, which is the current token then.
  Result<Body> parse_until(Names ends);
  /// The rest of a tag, and the statements behind it.
  Result<Body> parse_body(Names ends);
  /// The same for a block with variables of its own; `parameters` have values in it.
  Result<Body> parse_frame(Names ends, const std::vector<NameId>& parameters = {});
  void store(const Target& target);
  Result<StatementPointer> parse_tag();
  Result<StatementPointer> parse_print(std::size_t at);
  Result<StatementPointer> parse_for(std::size_t at);
  Result<StatementPointer> parse_if(std::size_t at);
  Result<StatementPointer> parse_set(std::size_t at);
  Result<StatementPointer> parse_macro(std::size_t at);
  Result<StatementPointer> parse_call(std::size_t at);
  Result<StatementPointer> parse_filter(std::size_t at);
  Result<StatementPointer> parse_with(std::size_t at);
  Result<StatementPointer> parse_generation(std::size_t at);
  Result<StatementPointer> parse_break(std::size_t at);
  Result<StatementPointer> parse_continue(std::size_t at);
  Result<StatementPointer> parse_outside(std::size_t at);
  Status parse_parameters(MacroSyntax& macro);
  Status parse_macro_body(MacroSyntax& macro, std::string_view end);

  TokenStream& tokens_;
  NameFrames frames_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;
};

const std::array<StatementParser::Tag, 11> StatementParser::kTags = {{
    {"for", &StatementParser::parse_for},
    {"if", &StatementParser::parse_if},
    {"set", &StatementParser::parse_set},
    {"macro", &StatementParser::parse_macro},
    {"call", &StatementParser::parse_call},
    {"filter", &StatementParser::parse_filter},
    {"with", &StatementParser::parse_with},
    {"print", &StatementParser::parse_print},
    {"generation", &StatementParser::parse_generation},
    {"break", &StatementParser::parse_break},
    {"continue", &StatementParser::parse_continue},
}};
constexpr std::array<std::string_view, 5> kOutsideTags = {"include", "import", "from", "extends",
                                                          "block"};

Result<Body> StatementParser::parse_until(Names ends) {
  Body body;
  while (!tokens_.is(TokenKind::kEnd)) {
    if (tokens_.is(TokenKind::kData)) {
      const TemplateToken& token = tokens_.take();
      auto data = std::make_unique<Data>(token.at);
      data->text = TracedText(token.text, true);
      body.push_back(std::move(data));
    } else if (tokens_.is(TokenKind::kVariableBegin)) {
      auto print = std::make_unique<Print>(tokens_.take().at);
      SHUNT_ASSIGN(print->value, expressions_.parse_tuple());
      SHUNT_TRY(tokens_.expect(TokenKind::kVariableEnd));
      body.push_back(std::move(print));
    } else {
      SHUNT_TRY(tokens_.expect(TokenKind::kBlockBegin));
      if (tokens_.is_one_of(ends)) return body;
      SHUNT_ASSIGN(StatementPointer statement, parse_tag());
      body.push_back(std::move(statement));
      SHUNT_TRY(tokens_.expect(TokenKind::kBlockEnd));
    }
  }
  if (ends.size() > 0) {
    return tokens_.fail(tokens_.current().at,
                        fmt::format("the template ends before \"{}\"", *(ends.end() - 1)));
  }
  return body;
}

Result<Body> StatementParser::parse_body(Names ends) {
  tokens_.skip(TokenKind::kOperator, ":");
  SHUNT_TRY(tokens_.expect(TokenKind::kBlockEnd));
  if (depth_ >= kMostBlocks) {
    return tokens_.fail(tokens_.current().at,
                        fmt::format("blocks are nested more than {} deep", kMostBlocks));
  }
  ++depth_;
  auto body = parse_until(ends);
  --depth_;
  return body;
}

Result<Body> StatementParser::parse_frame(Names ends, const std::vector<NameId>& parameters) {
  frames_.begin();
  for (const NameId name : parameters) frames_.declare(name);
  SHUNT_ASSIGN(Body body, parse_body(ends));
  frames_.end(body);
  return body;
}

/// An attribute of a namespace is no assignment to its name.
void StatementParser::store(const Target& target) {
  if (target.kind == Target::Kind::kName) frames_.store(target.name);
  if (target.kind == Target::Kind::kAttribute) frames_.load(target.name);
  for (const Target& element : target.elements) store(element);
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_tag() {
  const TemplateToken& token = tokens_.current();
  const std::size_t at = token.at;
  if (token.kind == TokenKind::kName) {
    for (const Tag& tag : kTags) {
      if (tag.name != token.text) continue;
      tokens_.take();
      return (this->*tag.parse)(at);
    }
    return parse_outside(at);
  }
  return tokens_.unexpected();
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_outside(std::size_t at) {
  const std::string& name = tokens_.current().text;
  const bool is_outside =
      std::find(kOutsideTags.begin(), kOutsideTags.end(), name) != kOutsideTags.end();
  if (!is_outside) return tokens_.fail(at, fmt::format("unknown tag \"{}\"", name));
  return tokens_.fail(
      at, fmt::format("\"{}\" is not available: a template has no access to others", name));
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_print(std::size_t at) {
  auto print = std::make_unique<Print>(at);
  SHUNT_ASSIGN(print->value, expressions_.parse_expression());
  return print;
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_for(std::size_t at) {
  auto loop = std::make_unique<Loop>(at);
  SHUNT_ASSIGN(loop->target, parse_target(tokens_, false));
  SHUNT_TRY(tokens_.expect(TokenKind::kName, "in"));
  SHUNT_ASSIGN(loop->iterable, expressions_.parse_tuple(false));
  std::vector<NameId> parameters;
  add_names(loop->target, parameters);
  if (tokens_.skip(TokenKind::kName, "if")) {
    Body none;
    frames_.begin();
    for (const NameId name : parameters) frames_.declare(name);
    SHUNT_ASSIGN(loop->filter, expressions_.parse_expression());
    frames_.end(none);
  }
  loop->is_recursive = tokens_.skip(TokenKind::kName, "recursive");
  loop->loop_name = tokens_.id_of("loop");
  parameters.push_back(loop->loop_name);
  ++loops_;
  SHUNT_ASSIGN(loop->body, parse_frame({"else", "endfor"}, parameters));
  --loops_;
  if (tokens_.take().text == "else") {
    SHUNT_ASSIGN(loop->otherwise, parse_frame({"endfor"}));
    tokens_.take();
  }
  return loop;
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_if(std::size_t at) {
  auto condition = std::make_unique<Condition>(at);
  expressions_.enter_condition();
  for (std::string_view tag = "if"; tag != "endif";) {
    const bool is_else = tag == "else";
    const bool is_elif = tag == "elif";
    if (is_elif || is_else) frames_.begin_branch(is_elif ? 1 : 2);
    ExpressionPointer test;
    if (!is_else) {
      SHUNT_ASSIGN(test, expressions_.parse_tuple(false));
      frames_.begin_choice();
    }
    SHUNT_ASSIGN(Body body,
                 is_else ? parse_body({"endif"}) : parse_body({"elif", "else", "endif"}));
    if (is_elif) frames_.end_choice();
    if (is_else) {
      condition->otherwise = std::move(body);
    } else {
      condition->branches.emplace_back(std::move(test), std::move(body));
    }
    tag = tokens_.take().text;
  }
  frames_.end_choice();
  expressions_.leave_condition();
  return condition;
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_set(std::size_t at) {
  SHUNT_ASSIGN(Target target, parse_target(tokens_, true));
  if (tokens_.skip(TokenKind::kOperator, "=")) {
    auto assignment = std::make_unique<Assignment>(at);
    assignment->target = std::move(target);
    SHUNT_ASSIGN(assignment->value, expressions_.parse_tuple());
    store(assignment->target);
    return assignment;
  }
  auto block = std::make_unique<BlockAssignment>(at);
  block->target = std::move(target);
  store(block->target);
  SHUNT_ASSIGN(block->filters, expressions_.parse_filters(false));
  SHUNT_ASSIGN(block->body, parse_frame({"endset"}));
  tokens_.take();
  return block;
}

Status StatementParser::parse_parameters(MacroSyntax& macro) {
  SHUNT_TRY(tokens_.expect(TokenKind::kOperator, "("));
  while (!tokens_.is_operator(")")) {
    if (!macro.parameters.empty()) SHUNT_TRY(tokens_.expect(TokenKind::kOperator, ","));
    const std::size_t at = tokens_.current().at;
    SHUNT_ASSIGN(const std::string name, tokens_.expect_name());
    macro.parameters.emplace_back(tokens_.id_of(name), name);
    frames_.declare(macro.parameters.back().first);
    if (tokens_.skip(TokenKind::kOperator, "=")) {
      SHUNT_ASSIGN(ExpressionPointer value, expressions_.parse_expression());
      macro.defaults.push_back(std::move(value));
    } else if (!macro.defaults.empty()) {
      return tokens_.fail(at, "a parameter without a default follows one with a default");
    }
  }
  tokens_.take();
  return ok();
}

Status StatementParser::parse_macro_body(MacroSyntax& macro, std::string_view end) {
  const UsedNames outside = std::exchange(expressions_.used_names(), UsedNames{});
  const int loops = std::exchange(loops_, 0);
  for (const char* const name : {"caller", "kwargs", "varargs"}) {
    frames_.declare(tokens_.id_of(name));
  }
  SHUNT_ASSIGN(macro.body, parse_body({end}));
  frames_.end(macro.body);
  tokens_.take();
  loops_ = loops;
  const UsedNames used = std::exchange(expressions_.used_names(), outside);
  expressions_.used_names().caller |= used.caller;
  expressions_.used_names().varargs |= used.varargs;
  expressions_.used_names().kwargs |= used.kwargs;
  macro.caller = tokens_.id_of("caller");
  macro.varargs = tokens_.id_of("varargs");
  macro.kwargs = tokens_.id_of("kwargs");
  const auto is_parameter = [&](std::string_view name) {
    return std::any_of(macro.parameters.begin(), macro.parameters.end(),
                       [&](const auto& parameter) { return parameter.second == name; });
  };
  macro.uses_caller = used.caller && !is_parameter("caller");
  macro.uses_varargs = used.varargs && !is_parameter("varargs");
  macro.uses_kwargs = used.kwargs && !is_parameter("kwargs");
  return ok();
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_macro(std::size_t at) {
  auto statement = std::make_unique<MacroStatement>(at);
  SHUNT_ASSIGN(statement->macro.name, tokens_.expect_name());
  statement->name = tokens_.id_of(statement->macro.name);
  frames_.store(statement->name);
  frames_.begin();
  SHUNT_TRY(parse_parameters(statement->macro));
  SHUNT_TRY(parse_macro_body(statement->macro, "endmacro"));
  return statement;
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_call(std::size_t at) {
  auto statement = std::make_unique<CallStatement>(at);
  statement->caller.name = "caller";
  frames_.begin();
  if (tokens_.is_operator("(")) SHUNT_TRY(parse_parameters(statement->caller));
  const std::size_t frame = frames_.pause();
  SHUNT_ASSIGN(ExpressionPointer call, expressions_.parse_expression());
  frames_.resume(frame);
  if (dynamic_cast<const CallUse*>(call.get()) == nullptr)
    return tokens_.fail(call->at, "expected a call");
  statement->call.reset(static_cast<const CallUse*>(call.release()));
  SHUNT_TRY(parse_macro_body(statement->caller, "endcall"));
  return statement;
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_filter(std::size_t at) {
  auto statement = std::make_unique<FilterStatement>(at);
  SHUNT_ASSIGN(statement->filters, expressions_.parse_filters(true));
  SHUNT_ASSIGN(statement->body, parse_frame({"endfilter"}));
  tokens_.take();
  return statement;
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_with(std::size_t at) {
  auto statement = std::make_unique<WithStatement>(at);
  std::vector<NameId> parameters;
  while (!tokens_.is(TokenKind::kBlockEnd)) {
    if (!statement->values.empty()) SHUNT_TRY(tokens_.expect(TokenKind::kOperator, ","));
    SHUNT_ASSIGN(Target target, parse_one_target(tokens_, false));
    add_names(target, parameters);
    SHUNT_TRY(tokens_.expect(TokenKind::kOperator, "="));
    SHUNT_ASSIGN(ExpressionPointer value, expressions_.parse_expression());
    statement->values.emplace_back(std::move(target), std::move(value));
  }
  SHUNT_ASSIGN(statement->body, parse_frame({"endwith"}, parameters));
  tokens_.take();
  return statement;
}

/// "generation" marks the text of the assistant, for training; it prints its body.
Result<std::unique_ptr<const Statement>> StatementParser::parse_generation(std::size_t at) {
  auto statement = std::make_unique<WithStatement>(at);
  SHUNT_ASSIGN(statement->body, parse_frame({"endgeneration"}));
  tokens_.take();
  return statement;
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_break(std::size_t at) {
  if (loops_ == 0) return tokens_.fail(at, "\"break\" outside of a loop");
  return std::make_unique<LoopExit>(at);
}

Result<std::unique_ptr<const Statement>> StatementParser::parse_continue(std::size_t at) {
  if (loops_ == 0) return tokens_.fail(at, "\"continue\" outside of a loop");
  auto exit = std::make_unique<LoopExit>(at);
  exit->flow = Flow::kContinue;
  return exit;
}

}  // namespace

Result<SyntaxTree> parse(const Source& source) {
  SHUNT_ASSIGN(std::vector<TemplateToken> tokens, read_tokens(source));
  TokenStream stream(source, std::move(tokens));
  SyntaxTree tree;
  SHUNT_ASSIGN(tree.body, StatementParser(stream).parse_all());
  tree.names = stream.take_names();
  return tree;
}

}  // namespace shunt::text::jinja
