#include "cuda/ptx/constants.h"

#include <array>
#include <bit>

namespace cuda_twin::ptx {
namespace {

constexpr unsigned kDeepest = 64;

struct Operator {
  std::string_view sign;
  unsigned level;  ///< a higher one binds more tightly
};
constexpr std::array<Operator, 18> kOperators{{{"||", 1},
                                               {"&&", 2},
                                               {"|", 3},
                                               {"^", 4},
                                               {"&", 5},
                                               {"==", 6},
                                               {"!=", 6},
                                               {"<", 7},
                                               {"<=", 7},
                                               {">", 7},
                                               {">=", 7},
                                               {"<<", 8},
                                               {">>", 8},
                                               {"+", 9},
                                               {"-", 9},
                                               {"*", 10},
                                               {"/", 10},
                                               {"%", 10}}};

Literal integer(std::uint64_t bits, bool is_unsigned) {
  return {Literal::Kind::kInteger, bits, is_unsigned};
}
Literal number(double value) {
  return {Literal::Kind::kDouble, std::bit_cast<std::uint64_t>(value), false};
}
double value_of(const Literal& literal) {
  return std::bit_cast<double>(literal.bits);
}

using Bits = std::uint64_t;

/// Division where C++ leaves nothing undefined: INT64_MIN / -1 wraps.
Bits divide(Bits a, Bits b, bool is_unsigned) {
  if (is_unsigned) return a / b;
  if (b == ~Bits{0}) return Bits{0} - a;
  return static_cast<Bits>(static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b));
}

Bits shift_right(Bits a, Bits count, bool is_unsigned) {
  const Bits clamped = count > 63 ? 63 : count;
  if (!is_unsigned) return static_cast<Bits>(static_cast<std::int64_t>(a) >> clamped);
  return count > 63 ? 0 : a >> clamped;
}

bool less(Bits a, Bits b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
}

using Integers = Bits (*)(Bits a, Bits b, bool is_unsigned);
/// In the order of kOperators.
constexpr std::array<Integers, 18> kIntegers{{
    [](Bits a, Bits b, bool) { return Bits{a != 0 || b != 0}; },
    [](Bits a, Bits b, bool) { return Bits{a != 0 && b != 0}; },
    [](Bits a, Bits b, bool) { return a | b; },
    [](Bits a, Bits b, bool) { return a ^ b; },
    [](Bits a, Bits b, bool) { return a & b; },
    [](Bits a, Bits b, bool) { return Bits{a == b}; },
    [](Bits a, Bits b, bool) { return Bits{a != b}; },
    [](Bits a, Bits b, bool u) { return Bits{less(a, b, u)}; },
    [](Bits a, Bits b, bool u) { return Bits{!less(b, a, u)}; },
    [](Bits a, Bits b, bool u) { return Bits{less(b, a, u)}; },
    [](Bits a, Bits b, bool u) { return Bits{!less(a, b, u)}; },
    [](Bits a, Bits b, bool) { return b > 63 ? Bits{0} : a << b; },
    shift_right,
    [](Bits a, Bits b, bool) { return a + b; },
    [](Bits a, Bits b, bool) { return a - b; },
    [](Bits a, Bits b, bool) { return a * b; },
    divide,
    [](Bits a, Bits b, bool u) { return a - divide(a, b, u) * b; },
}};

/// .5 reads like a modifier.
bool is_fraction(const Token& token) {
  return token.kind == Token::Kind::kDot && token.text[0] >= '0' && token.text[0] <= '9';
}

class Expression {
 public:
  explicit Expression(Tokens& tokens) : tokens_(tokens) {}

  std::optional<Literal> choice(unsigned depth) {
    std::optional<Literal> condition = binary(1, depth);
    if (!condition || !tokens_.at_sign("?")) return condition;
    if (depth >= kDeepest) return fail("the expression is nested too deeply");
    if (condition->kind != Literal::Kind::kInteger) return fail("? needs an integer before it");
    tokens_.next();
    const auto yes = choice(depth + 1);
    if (!yes || !tokens_.expect(":")) return std::nullopt;
    const auto no = choice(depth + 1);
    if (!no) return std::nullopt;
    return condition->bits != 0 ? yes : no;
  }

 private:
  std::optional<Literal> fail(std::string reason) {
    tokens_.fail(std::move(reason));
    return std::nullopt;
  }

  std::optional<std::size_t> next_operator(unsigned level) const {
    if (tokens_.peek().kind != Token::Kind::kSign) return std::nullopt;
    for (std::size_t i = 0; i < kOperators.size(); ++i) {
      if (kOperators[i].sign == tokens_.peek().text && kOperators[i].level >= level) return i;
    }
    return std::nullopt;
  }

  std::optional<Literal> binary(unsigned level, unsigned depth) {
    std::optional<Literal> left = unary(depth);
    while (left) {
      const auto found = next_operator(level);
      if (!found) return left;
      tokens_.next();
      const auto right = binary(kOperators[*found].level + 1, depth);
      if (!right) return std::nullopt;
      left = apply(*found, *left, *right);
    }
    return left;
  }

  std::optional<Literal> apply(std::size_t which, const Literal& a, const Literal& b) {
    if (a.kind == Literal::Kind::kDouble && b.kind == Literal::Kind::kDouble) {
      return apply_doubles(kOperators[which].sign, value_of(a), value_of(b));
    }
    if (a.kind != Literal::Kind::kInteger || b.kind != Literal::Kind::kInteger) {
      return fail("a constant expression mixes types");
    }
    const bool divides = kOperators[which].sign == "/" || kOperators[which].sign == "%";
    if (divides && b.bits == 0) return fail("a constant expression divides by zero");
    const bool is_unsigned = a.is_unsigned || b.is_unsigned;
    const bool shift = kOperators[which].level == 8;
    const bool compares = kOperators[which].level == 6 || kOperators[which].level == 7;
    return integer(kIntegers[which](a.bits, b.bits, shift ? a.is_unsigned : is_unsigned),
                   !compares && (shift ? a.is_unsigned : is_unsigned));
  }

  std::optional<Literal> apply_doubles(std::string_view sign, double a, double b) {
    if (sign == "+") return number(a + b);
    if (sign == "-") return number(a - b);
    if (sign == "*") return number(a * b);
    if (sign == "/") return number(a / b);
    if (sign == "<") return integer(a < b, false);
    if (sign == "<=") return integer(a <= b, false);
    if (sign == ">") return integer(a > b, false);
    if (sign == ">=") return integer(a >= b, false);
    if (sign == "==") return integer(a == b, false);
    if (sign == "!=") return integer(a != b, false);
    return fail("operator " + std::string(sign) + " has no floats");
  }

  std::optional<Literal> unary(unsigned depth) {
    if (depth >= kDeepest) return fail("the expression is nested too deeply");
    if (tokens_.take_sign("+")) return unary(depth + 1);
    if (tokens_.take_sign("-")) return negated(unary(depth + 1));
    if (tokens_.take_sign("~")) return complement(unary(depth + 1));
    if (tokens_.take_sign("!")) return opposite(unary(depth + 1));
    return primary(depth);
  }

  static std::optional<Literal> negated(std::optional<Literal> value) {
    if (!value) return value;
    if (value->kind == Literal::Kind::kInteger) value->bits = 0 - value->bits;
    if (value->kind == Literal::Kind::kSingle) value->bits ^= 0x80000000U;
    if (value->kind == Literal::Kind::kDouble) value->bits ^= std::uint64_t{1} << 63;
    return value;
  }

  std::optional<Literal> complement(std::optional<Literal> value) {
    if (!value) return value;
    if (value->kind != Literal::Kind::kInteger) return fail("~ needs an integer");
    value->bits = ~value->bits;
    return value;
  }

  std::optional<Literal> opposite(const std::optional<Literal>& value) {
    if (!value) return value;
    if (value->kind != Literal::Kind::kInteger) return fail("! needs an integer");
    return integer(value->bits == 0 ? 1 : 0, false);
  }

  std::optional<Literal> primary(unsigned depth) {
    const Token& token = tokens_.peek();
    if (token.is(Token::Kind::kWord, "WARP_SZ")) {
      tokens_.next();
      return integer(32, false);
    }
    if (token.kind == Token::Kind::kNumber) return literal(std::string(token.text));
    if (is_fraction(token)) return literal("0." + std::string(token.text));
    if (!tokens_.take_sign("(")) {
      tokens_.unexpected("a constant");
      return std::nullopt;
    }
    if (tokens_.at_dot()) return cast(depth);
    const auto inner = choice(depth + 1);
    if (!inner || !tokens_.expect(")")) return std::nullopt;
    return inner;
  }

  std::optional<Literal> literal(const std::string& text) {
    std::string problem;
    const Literal value = literal_of(text, problem);
    if (!problem.empty()) return fail(problem);
    tokens_.next();
    return value;
  }

  /// (.s64)x and (.u64)x
  std::optional<Literal> cast(unsigned depth) {
    const bool is_unsigned = tokens_.take_dot("u64");
    if (!is_unsigned && !tokens_.take_dot("s64")) return fail("a cast is (.s64) or (.u64)");
    if (!tokens_.expect(")")) return std::nullopt;
    const auto value = unary(depth + 1);
    if (!value) return value;
    if (value->kind != Literal::Kind::kInteger) return fail("a cast needs an integer");
    return integer(value->bits, is_unsigned);
  }

  Tokens& tokens_;
};

}  // namespace

bool at_constant(const Tokens& tokens) {
  const Token& token = tokens.peek();
  if (token.kind == Token::Kind::kNumber || is_fraction(token)) return true;
  if (token.kind == Token::Kind::kWord) return token.text == "WARP_SZ";
  if (token.kind != Token::Kind::kSign) return false;
  if (token.text == "(" || token.text == "~" || token.text == "+") return true;
  const bool prefix = token.text == "-" || token.text == "!";
  const Token& after = tokens.peek(1);
  return prefix && (after.kind != Token::Kind::kWord || after.text == "WARP_SZ");
}

std::optional<Literal> read_constant(Tokens& tokens) {
  return Expression(tokens).choice(0);
}

std::optional<std::int64_t> read_integer(Tokens& tokens) {
  const auto value = read_constant(tokens);
  if (!value) return std::nullopt;
  if (value->kind != Literal::Kind::kInteger) {
    tokens.fail("an integer is needed, not a float");
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value->bits);
}

std::optional<std::uint64_t> read_count(Tokens& tokens, std::string_view role, std::uint64_t least,
                                        std::uint64_t most) {
  const auto value = read_integer(tokens);
  if (!value) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(*value);
  if (count >= least && count <= most) return count;
  tokens.fail(std::string(role) + " must be " + std::to_string(least) + " to " +
              std::to_string(most) + ", not " + std::to_string(*value));
  return std::nullopt;
}

}  // namespace cuda_twin::ptx
