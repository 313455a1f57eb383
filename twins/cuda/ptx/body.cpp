// Statements of a function: declarations, labels, debug information.
#include "cuda/ptx/constants.h"
#include "cuda/ptx/debug.h"
#include "cuda/ptx/functions.h"

namespace cuda_twin::ptx {

bool FunctionReader::body() {
  if (!tokens_.expect("{")) return false;
  while (scopes_.depth() > 0) {
    if (!statement()) return false;
  }
  return true;
}

bool FunctionReader::statement() {
  if (tokens_.take_sign("{")) return scopes_.push();
  if (tokens_.take_sign("}")) return scopes_.pop();
  if (tokens_.take_sign(";")) return true;
  if (tokens_.at_dot()) return directive();
  const Token& after = tokens_.peek(1);
  if (tokens_.at_word() && after.is(Token::Kind::kSign, ":")) return label();
  if (tokens_.at_sign("@") && after.is(Token::Kind::kSign, "@")) {
    tokens_.skip_line(tokens_.line());
    return true;
  }
  return instruction();
}

bool FunctionReader::directive() {
  if (at_debug(tokens_)) return skip_debug(tokens_);
  const Token token = tokens_.peek();
  const auto space = take_space(tokens_);
  if (space == Space::kRegister) return registers();
  if (space) return variables(*space);
  return tokens_.fail_at(token.line, "." + shown(token.text) + " has no place in a function");
}

bool FunctionReader::registers() {
  VariableForm form{Space::kRegister};
  if (!read_form(tokens_, form)) return false;
  do {
    const auto name = tokens_.expect_word("the name of a register");
    if (!name) return false;
    if (!tokens_.take_sign("<")) {
      if (!scopes_.declare_register(*name, form.type, form.vector)) return false;
      continue;
    }
    const auto count = range();
    if (!count || !scopes_.declare_range(*name, form.type, form.vector, *count)) return false;
  } while (tokens_.take_sign(","));
  return tokens_.expect(";");
}

/// After the "<" of name<100>: its end is no operator, so only a number may stand here.
std::optional<std::uint64_t> FunctionReader::range() {
  std::string problem;
  const Token token = tokens_.peek();
  const Literal count = literal_of(token.text, problem);
  if (token.kind != Token::Kind::kNumber) {
    tokens_.unexpected("a number");
  } else if (!problem.empty()) {
    tokens_.fail(problem);
  } else if (count.kind != Literal::Kind::kInteger) {
    tokens_.fail("an integer is needed");
  } else if (count.bits > tokens_.limits.registers) {
    tokens_.fail("too many registers");
  } else {
    tokens_.next();
    if (tokens_.expect(">")) return count.bits;
  }
  return std::nullopt;
}

bool FunctionReader::variables(Space space) {
  VariableForm form{space};
  if (!read_form(tokens_, form)) return false;
  do {
    if (!variable(form)) return false;
  } while (tokens_.take_sign(","));
  return tokens_.expect(";");
}

bool FunctionReader::variable(const VariableForm& form) {
  Variable result;
  result.line = tokens_.line();
  const auto name = tokens_.expect_word("the name of a variable");
  if (!name) return false;
  auto unique = scopes_.declare_variable(*name, form.space);
  if (!unique) return false;
  result.name = std::move(*unique);
  if (!tokens_.take_sign("<")) {
    if (!read_shape(tokens_, form, result, names_, module_names())) return false;
    auto& list = is_static(form.space) ? module_.variables : function_.variables;
    list.push_back(std::move(result));
    return true;
  }
  return tokens_.fail("a range of names is for registers");
}

/// Names of the function come before those of the module.
Resolve FunctionReader::module_names() {
  return [this](std::string_view name) -> std::optional<std::string> {
    const Symbol* symbol = scopes_.find(name);
    if (symbol != nullptr && is_static(symbol->space)) return symbol->unique;
    std::string result(name);
    const bool known = names_.entries.contains(result) || name == function_.name;
    if (symbol != nullptr || !known) return std::nullopt;
    return result;
  };
}

bool FunctionReader::label() {
  const Token token = tokens_.next();
  tokens_.expect(":");
  auto unique = scopes_.declare_label(token.text);
  if (!unique) return false;
  const std::string_view directive = tokens_.at_dot() ? tokens_.peek().text : std::string_view{};
  if (directive == "branchtargets" || directive == "calltargets" || directive == "callprototype") {
    return target_list(std::move(*unique), token.line);
  }
  function_.labels.push_back({std::move(*unique), function_.body.size(), token.line});
  return true;
}

bool FunctionReader::target_list(std::string name, Line line) {
  const std::string_view kind = tokens_.next().text;
  function_.target_lists.push_back({std::move(name), {}, line});
  TargetList& list = function_.target_lists.back();
  if (kind == "callprototype") return prototype();
  do {
    if (!targets(list)) return false;
  } while (tokens_.take_sign(","));
  if (!tokens_.expect(";")) return false;
  for (std::string& target : list.targets) {
    const auto found = names_.entries.find(target);
    const bool function = found != names_.entries.end() && found->second.is_function;
    if (kind == "calltargets" && !function && target != function_.name) {
      return tokens_.fail_at(line, shown(target) + " is no function");
    }
    if (kind == "branchtargets") scopes_.wants_label(&target, line, kind);
  }
  return true;
}

/// A name, or a range of them such as L<8>.
bool FunctionReader::targets(TargetList& list) {
  const auto target = tokens_.expect_word("a target");
  if (!target) return false;
  std::optional<std::uint64_t> count = 1;
  const bool numbered = tokens_.take_sign("<");
  if (numbered) count = range();
  if (!count) return false;
  // Few characters of a range stand for many names.
  names_.target_bytes += *count * (target->size() + sizeof(std::string));
  if (names_.target_bytes > tokens_.limits.target_bytes) {
    return tokens_.fail("the lists of targets exceed " +
                        std::to_string(tokens_.limits.target_bytes) + " bytes");
  }
  for (std::uint64_t i = 0; i < *count; ++i) {
    list.targets.push_back(std::string(*target) + (numbered ? std::to_string(i) : ""));
  }
  return true;
}

/// (.param .b32 _) _ (.param .b64 _, ...) .noreturn;
bool FunctionReader::prototype() {
  if (tokens_.at_sign("(") && !tokens_.skip_group("(", ")")) return false;
  if (!tokens_.expect_word("\"_\"")) return false;
  if (tokens_.at_sign("(") && !tokens_.skip_group("(", ")")) return false;
  while (tokens_.at_dot()) {
    const std::string_view directive = tokens_.next().text;
    std::uint32_t ignored = 0;
    if (directive.starts_with("abi_preserve") && !one(ignored)) return false;
  }
  return tokens_.expect(";");
}

}  // namespace cuda_twin::ptx
