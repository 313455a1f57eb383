// Instructions of a function and their operands.
#include <array>
#include <cctype>

#include "cuda/ptx/constants.h"
#include "cuda/ptx/functions.h"

namespace cuda_twin::ptx {
namespace {

constexpr unsigned kDeepestOperand = 4;  ///< of operands in operands
constexpr std::size_t kMostItems = 512;  ///< of a vector or list

bool is_special(std::string_view name) {
  return name.starts_with('%');
}

bool starts_instruction(const Token& token) {
  return token.kind == Token::Kind::kWord && token.text[0] >= 'a' && token.text[0] <= 'z';
}

}  // namespace

bool FunctionReader::guard(Instruction& instruction) {
  if (!tokens_.take_sign("@")) return true;
  instruction.guarded = true;
  instruction.guard_negated = tokens_.take_sign("!");
  const auto name = tokens_.expect_word("a predicate");
  if (!name) return false;
  const Symbol* symbol = scopes_.find(*name);
  if (symbol == nullptr) return tokens_.fail(shown(*name) + " is not declared");
  const bool predicate = symbol->is_register && symbol->vector == 1 &&
                         function_.registers[symbol->index].type == Type::kPred;
  if (!predicate) return tokens_.fail("the guard " + shown(*name) + " is no predicate");
  instruction.guard = symbol->index;
  return true;
}

bool FunctionReader::instruction() {
  Instruction result;
  if (!guard(result)) return false;
  if (!starts_instruction(tokens_.peek())) return tokens_.unexpected("an instruction");
  const Token name = tokens_.next();
  result.line = name.line;
  result.name = name.text;
  while (tokens_.at_dot()) result.modifiers.emplace_back(tokens_.next().text);
  wishes_ = false;
  call_ = name.text == "call";
  if (!tokens_.at_sign(";")) {
    do {
      if (result.operands.size() >= kMostItems) return tokens_.fail("there are too many operands");
      Operand& last = result.operands.emplace_back();
      if (!operand(last, 0)) return false;
      const bool unified = last.kind == Operand::Kind::kAddress && tokens_.take_dot("unified");
      if (unified) result.modifiers.emplace_back(kUnified);
    } while (tokens_.take_sign(","));
  }
  if (!tokens_.expect(";")) return false;
  function_.body.push_back(std::move(result));
  Instruction& kept = function_.body.back();
  if (wishes_) {
    for (Operand& each : kept.operands) keep_wishes(each, kept.line, name.text);
  }
  return true;
}

/// A name that is none of the function's registers and variables, nor of the module: a label of a
/// block that has not ended.
void FunctionReader::keep_wishes(Operand& operand, Line line, std::string_view user) {
  const bool label = operand.kind == Operand::Kind::kName && operand.index == 1;
  if (label) {
    operand.index = 0;
    scopes_.wants_label(&operand.name, line, user);
  }
  for (Operand& item : operand.items) keep_wishes(item, line, user);
}

bool FunctionReader::operand(Operand& operand, unsigned depth) {
  if (depth > kDeepestOperand) return tokens_.fail("operands are nested too deeply");
  if (tokens_.take_sign("[")) return address(operand, depth);
  if (!call_ && tokens_.take_sign("{")) {
    operand.kind = Operand::Kind::kVector;
    return items(operand, "}", depth);
  }
  if (call_ && tokens_.take_sign("(")) {
    operand.kind = Operand::Kind::kList;
    return items(operand, ")", depth);
  }
  if (!at_constant(tokens_)) return word(operand, depth);
  const auto value = read_constant(tokens_);
  if (!value) return false;
  operand.kind = Operand::Kind::kLiteral;
  operand.literal = *value;
  return true;
}

bool FunctionReader::items(Operand& operand, std::string_view close, unsigned depth) {
  while (!tokens_.take_sign(close)) {
    if (!operand.items.empty() && !tokens_.expect(",")) return false;
    if (operand.items.size() >= kMostItems) return tokens_.fail("a list has too many operands");
    if (!this->operand(operand.items.emplace_back(), depth + 1)) return false;
  }
  return true;
}

bool FunctionReader::word(Operand& operand, unsigned depth) {
  const bool negated = tokens_.take_sign("!") || tokens_.take_sign("-");
  const Line line = tokens_.line();
  const auto name = tokens_.expect_word("an operand");
  if (!name) return false;
  if (*name == "_" && !negated) return tokens_.at_sign("|") ? pair(operand) : true;
  if (!resolve(operand, *name, negated)) return false;
  if (negated && operand.kind != Operand::Kind::kRegister &&
      operand.kind != Operand::Kind::kSpecial) {
    return tokens_.fail_at(line, shown(*name) + " cannot be negated");
  }
  operand.negated = negated;
  if (operand.kind == Operand::Kind::kName) return offset(operand.offset);
  const bool plain = operand.kind == Operand::Kind::kRegister && !negated && depth == 0;
  if (plain && tokens_.at_sign("+")) return sum(operand);
  return !tokens_.at_sign("|") || pair(operand);
}

/// %r + 4
bool FunctionReader::sum(Operand& operand) {
  Operand base = std::move(operand);
  operand = Operand{};
  operand.kind = Operand::Kind::kSum;
  operand.items.push_back(std::move(base));
  return offset(operand.offset);
}

/// p|q
bool FunctionReader::pair(Operand& operand) {
  tokens_.expect("|");
  Operand first = std::move(operand);
  operand = Operand{};
  operand.kind = Operand::Kind::kPair;
  operand.items.push_back(std::move(first));
  Operand& second = operand.items.emplace_back();
  if (!tokens_.at_word()) return tokens_.unexpected("a register");
  const std::string_view name = tokens_.next().text;
  if (name == "_") return true;
  return resolve(second, name, false);
}

bool FunctionReader::resolve(Operand& operand, std::string_view name, bool negated) {
  if (const Symbol* symbol = scopes_.find(name)) {
    if (symbol->is_register) return register_part(operand, *symbol);
    operand.kind = Operand::Kind::kName;
    operand.name = symbol->unique;
    return true;
  }
  operand.name = name;
  if (is_special(name)) {
    operand.kind = Operand::Kind::kSpecial;
    if (tokens_.at_dot()) operand.name += "." + std::string(tokens_.next().text);
    return true;
  }
  operand.kind = Operand::Kind::kName;
  const bool known = names_.entries.contains(operand.name) || name == function_.name;
  operand.index = known ? 0 : 1;
  wishes_ |= !known && !negated;
  return true;
}

/// A register, a part of a vector of registers (%v.x), or all of its parts.
bool FunctionReader::register_part(Operand& operand, const Symbol& symbol) {
  constexpr std::string_view kParts = "xyzwrgba";
  operand.kind = Operand::Kind::kRegister;
  operand.index = symbol.index;
  if (symbol.vector == 1) return true;
  if (!tokens_.at_dot()) {
    operand.kind = Operand::Kind::kVector;
    for (unsigned i = 0; i < symbol.vector; ++i) {
      Operand& item = operand.items.emplace_back();
      item.kind = Operand::Kind::kRegister;
      item.index = symbol.index + i;
    }
    return true;
  }
  const std::string_view part = tokens_.next().text;
  const std::size_t place = part.size() == 1 ? kParts.find(part) : std::string_view::npos;
  if (place == std::string_view::npos || place % 4 >= symbol.vector) {
    return tokens_.fail("a vector of registers has no part ." + shown(part));
  }
  operand.index += static_cast<std::uint32_t>(place % 4);
  return true;
}

/// [base + offset], and [base, {coordinates}] of tensor copies.
bool FunctionReader::address(Operand& operand, unsigned depth) {
  operand.kind = Operand::Kind::kAddress;
  Operand& base = operand.items.emplace_back();
  if (at_constant(tokens_)) {
    const auto value = read_constant(tokens_);
    if (!value) return false;
    base.kind = Operand::Kind::kLiteral;
    base.literal = *value;
  } else {
    const auto name = tokens_.expect_word("an address");
    if (!name || !resolve(base, *name, false)) return false;
    if (!offset(operand.offset)) return false;
  }
  while (tokens_.take_sign(",")) {
    if (operand.items.size() >= kMostItems) return tokens_.fail("an address has too many operands");
    if (!this->operand(operand.items.emplace_back(), depth + 1)) return false;
  }
  return tokens_.expect("]");
}

bool FunctionReader::offset(std::int64_t& value) {
  if (!tokens_.at_sign("+") && !tokens_.at_sign("-")) return true;
  const auto read = read_integer(tokens_);
  if (read) value = *read;
  return read.has_value();
}

}  // namespace cuda_twin::ptx
