#include "text/jinja/operators.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/format.h"

namespace shunt::text::jinja {
namespace {

Error unsupported_operands(std::string_view symbol, const Value& a, const Value& b) {
  for (const Value* each : {&a, &b}) {
    if (auto defined = require_defined(*each); !defined) return std::move(defined.error());
  }
  const bool big = a.as<BigInteger>() != nullptr || b.as<BigInteger>() != nullptr;
  if (big && ((is_number(a) && is_number(b)) || symbol == "*")) return beyond_64_bits();
  return invalid("'{}' is not supported between '{}' and '{}'", symbol, type_name(a), type_name(b));
}

/// Both operands, if they are integers of 64 bits; or as floats, if they are numbers and one of
/// them is a float.
struct Numbers {
  bool valid = false;
  bool integers = false;
  std::int64_t a = 0, b = 0;
  double x = 0, y = 0;
};

/// A number as a float. False for an integer beyond all floats.
bool read_number(const Value& value, double& number) {
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(value, room)) {
    number = static_cast<double>(*integer);
  } else if (const BigInteger* big = value.as<BigInteger>()) {
    number = double_of(*big);
    return !std::isinf(number);
  } else {
    number = *value.as<double>();
  }
  return true;
}

Numbers numbers_of(const Value& a, const Value& b) {
  Numbers numbers;
  if (!is_number(a) || !is_number(b)) return numbers;
  std::int64_t room_a = 0;
  std::int64_t room_b = 0;
  const std::int64_t* integer_a = integer_of(a, room_a);
  const std::int64_t* integer_b = integer_of(b, room_b);
  numbers.integers = integer_a != nullptr && integer_b != nullptr;
  if (integer_a != nullptr) numbers.a = *integer_a;
  if (integer_b != nullptr) numbers.b = *integer_b;
  const bool has_float = a.as<double>() != nullptr || b.as<double>() != nullptr;
  numbers.valid =
      (numbers.integers || has_float) && read_number(a, numbers.x) && read_number(b, numbers.y);
  return numbers;
}

Result<Value> concatenate(const Text& a, const Text& b, Budget& budget) {
  const bool safe = a.safe || b.safe;
  TracedText result;
  const auto append = [&](const Text& side) {
    result.append(safe && !side.safe ? escape_html(*side.text) : *side.text);
  };
  SHUNT_TRY(budget.make(a.text->size() + b.text->size()));
  append(a);
  append(b);
  return Value::text(std::move(result), safe);
}

Result<Value> concatenate(const Sequence& a, const Sequence& b, Budget& budget) {
  SHUNT_TRY(budget.make((a.items.size() + b.items.size()) * sizeof(Value)));
  std::vector<Value> items = a.items;
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_sequence(std::move(items), a.kind);
}

/// Whether it is a list or a tuple.
bool is_listed(const Value& value) {
  const Sequence* sequence = value.as_sequence();
  return sequence != nullptr && sequence->kind <= Sequence::Kind::kTuple;
}

Result<Value> subtract(const Value& a, const Value& b, Budget&) {
  const Numbers n = numbers_of(a, b);
  if (!n.valid) return unsupported_operands("-", a, b);
  if (!n.integers) return Value(n.x - n.y);
  std::int64_t result = 0;
  if (__builtin_sub_overflow(n.a, n.b, &result)) return beyond_64_bits();
  return Value(result);
}

Result<Value> repeat(const Value& value, std::int64_t times, Budget& budget) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  const TracedText* text = value.as_text();
  const Sequence* sequence = value.as_sequence();
  const std::size_t unit = text != nullptr ? text->size() : sequence->items.size() * sizeof(Value);
  std::size_t size = 0;
  if (__builtin_mul_overflow(unit, count, &size)) size = ~std::size_t{0};
  SHUNT_TRY(budget.make(size));
  if (unit == 0) return value;
  if (text != nullptr) {
    TracedText result;
    // Doubled as long as that fits: the number of copies may be large.
    TracedText unit_text = *text;
    for (std::size_t rest = count; rest > 0; rest >>= 1) {
      if ((rest & 1) != 0) result.append(unit_text);
      if (rest > 1) unit_text.append(TracedText(unit_text));
    }
    return Value::text(std::move(result));
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < count; ++i) {
    items.insert(items.end(), sequence->items.begin(), sequence->items.end());
  }
  return make_sequence(std::move(items), sequence->kind);
}

Result<Value> multiply(const Value& a, const Value& b, Budget& budget) {
  const Numbers n = numbers_of(a, b);
  if (n.valid) {
    if (!n.integers) return Value(n.x * n.y);
    std::int64_t result = 0;
    if (__builtin_mul_overflow(n.a, n.b, &result)) return beyond_64_bits();
    return Value(result);
  }
  std::int64_t room = 0;
  const auto repeats = [](const Value& value) {
    return value.as_text() != nullptr || is_listed(value);
  };
  if (const auto* times = integer_of(b, room); times != nullptr && repeats(a)) {
    return repeat(a, *times, budget);
  }
  if (const auto* times = integer_of(a, room); times != nullptr && repeats(b)) {
    return repeat(b, *times, budget);
  }
  return unsupported_operands("*", a, b);
}

std::uint64_t magnitude_of(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? 0 - bits : bits;
}

/// The float next to a / b, which is not that of the floats of both if these are rounded.
double quotient_of(std::int64_t a, std::int64_t b) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  std::uint64_t rest = magnitude_of(a);
  std::uint64_t divisor = magnitude_of(b);
  if (rest <= kExact && divisor <= kExact) return static_cast<double>(a) / static_cast<double>(b);
  const int shift_a = std::countl_zero(rest | 1);
  const int shift_b = std::countl_zero(divisor);
  rest <<= shift_a;
  divisor <<= shift_b;
  // Two bits more than a float has, at least, then one that says whether there is a rest.
  constexpr int kBits = 55;
  std::uint64_t quotient = 0;
  for (int bit = 0; bit < kBits; ++bit) {
    const bool carry = bit > 0 && (rest >> 63) != 0;
    if (bit > 0) rest <<= 1;
    const bool fits = carry || rest >= divisor;
    if (fits) rest -= divisor;
    quotient = quotient * 2 + (fits ? 1 : 0);
  }
  quotient = quotient * 2 + (rest != 0 ? 1 : 0);
  const double result = std::ldexp(static_cast<double>(quotient), shift_b - shift_a - kBits);
  return (a < 0) != (b < 0) ? -result : result;
}

Result<Value> divide(const Value& a, const Value& b, Budget&) {
  const Numbers n = numbers_of(a, b);
  if (!n.valid) return unsupported_operands("/", a, b);
  if (n.y == 0) return invalid("division by zero");
  return Value(n.integers ? quotient_of(n.a, n.b) : n.x / n.y);
}

/// Python's // of floats, which is exact where the quotient itself would be rounded up.
double floor_of_quotient(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Result<Value> divide_whole(const Value& a, const Value& b, Budget& budget) {
  const Numbers n = numbers_of(a, b);
  if (!n.valid) return unsupported_operands("//", a, b);
  if (n.y == 0) return invalid("division by zero");
  if (!n.integers) return Value(floor_of_quotient(n.x, n.y));
  if (n.b == -1) return subtract(Value(std::int64_t{0}), a, budget);
  const std::int64_t quotient = n.a / n.b;
  return Value(n.a % n.b != 0 && (n.a < 0) != (n.b < 0) ? quotient - 1 : quotient);
}

Result<Value> modulo(const Value& a, const Value& b, Budget& budget) {
  if (const Text* format = a.as<Text>()) return format_percent(*format, b, budget);
  const Numbers n = numbers_of(a, b);
  if (!n.valid) return unsupported_operands("%", a, b);
  if (n.y == 0) return invalid("division by zero");
  if (n.integers) {
    if (n.b == -1) return Value(std::int64_t{0});
    const std::int64_t rest = n.a % n.b;
    return Value(rest != 0 && (rest < 0) != (n.b < 0) ? rest + n.b : rest);
  }
  const double rest = std::fmod(n.x, n.y);
  if (rest == 0) return Value(std::copysign(0.0, n.y));
  return Value((rest < 0) != (n.y < 0) ? rest + n.y : rest);
}

Result<Value> power(const Value& a, const Value& b, Budget&) {
  const Numbers n = numbers_of(a, b);
  if (!n.valid) return unsupported_operands("**", a, b);
  if (!n.integers || n.b < 0) {
    const double result = std::pow(n.x, n.y);
    if (std::isnan(result) || std::isinf(result)) return invalid("a power has no finite value");
    return Value(result);
  }
  std::int64_t result = 1;
  std::int64_t base = n.a;
  for (std::int64_t exponent = n.b; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
      return beyond_64_bits();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return beyond_64_bits();
  }
  return Value(result);
}

Result<Value> is_equal(const Value& a, const Value& b, Budget& budget) {
  return Value(equal(a, b, budget));
}

Result<Value> is_unequal(const Value& a, const Value& b, Budget& budget) {
  return Value(!equal(a, b, budget));
}

Result<Value> is_less(const Value& a, const Value& b, Budget& budget) {
  for (const Value* each : {&a, &b}) SHUNT_TRY(require_defined(*each));
  SHUNT_ASSIGN(const bool result, less(a, b, budget));
  return Value(result);
}

Result<Value> is_greater(const Value& a, const Value& b, Budget& budget) {
  return is_less(b, a, budget);
}

Result<Value> is_at_most(const Value& a, const Value& b, Budget& budget) {
  SHUNT_ASSIGN(const Value result, is_less(a, b, budget));
  return Value(is_true(result) || equal(a, b, budget));
}

Result<Value> is_at_least(const Value& a, const Value& b, Budget& budget) {
  return is_at_most(b, a, budget);
}

struct NamedOperator {
  std::string_view symbol;
  BinaryOperator apply;
};
constexpr std::array<NamedOperator, 7> kArithmetic = {{{"+", add},
                                                       {"-", subtract},
                                                       {"*", multiply},
                                                       {"/", divide},
                                                       {"//", divide_whole},
                                                       {"%", modulo},
                                                       {"**", power}}};
constexpr std::array<NamedOperator, 6> kComparisons = {{{"==", is_equal},
                                                        {"!=", is_unequal},
                                                        {"<", is_less},
                                                        {">", is_greater},
                                                        {"<=", is_at_most},
                                                        {">=", is_at_least}}};

template <std::size_t N>
BinaryOperator find_operator(const std::array<NamedOperator, N>& table, std::string_view symbol) {
  for (const NamedOperator& each : table) {
    if (each.symbol == symbol) return each.apply;
  }
  return nullptr;
}

}  // namespace

BinaryOperator find_arithmetic(std::string_view symbol) {
  return find_operator(kArithmetic, symbol);
}

BinaryOperator find_comparison(std::string_view symbol) {
  return find_operator(kComparisons, symbol);
}

Status require_defined(const Value& value) {
  const Undefined* undefined = value.as<Undefined>();
  if (undefined == nullptr) return ok();
  if (undefined->name == nullptr) return invalid("the value {}", undefined->reason);
  return invalid("\"{}\" {}", *undefined->name, undefined->reason);
}

Result<Value> add(const Value& a, const Value& b, Budget& budget) {
  const Numbers n = numbers_of(a, b);
  if (n.valid) {
    if (!n.integers) return Value(n.x + n.y);
    std::int64_t result = 0;
    if (__builtin_add_overflow(n.a, n.b, &result)) return beyond_64_bits();
    return Value(result);
  }
  const Text* text_a = a.as<Text>();
  const Text* text_b = b.as<Text>();
  if (text_a != nullptr && text_b != nullptr) return concatenate(*text_a, *text_b, budget);
  if (is_listed(a) && is_listed(b) && a.as_sequence()->kind == b.as_sequence()->kind) {
    return concatenate(*a.as_sequence(), *b.as_sequence(), budget);
  }
  return unsupported_operands("+", a, b);
}

Result<Value> contains(const Value& item, const Value& container, Budget& budget) {
  if (const TracedText* text = container.as_text()) {
    const TracedText* part = item.as_text();
    if (part == nullptr) {
      SHUNT_TRY(require_defined(item));
      return invalid("'in' looks for a str in a str, not for '{}'", type_name(item));
    }
    SHUNT_TRY(budget.make(text->size()));
    return Value(text->view().find(part->view()) != std::string_view::npos);
  }
  if (const Mapping* mapping = container.as_mapping()) {
    if (!is_hashable(item)) return invalid("a '{}' is no key of a dict", type_name(item));
    return Value(mapping->find(item, budget) != nullptr);
  }
  if (const Sequence* sequence = container.as_sequence()) {
    const bool found = std::any_of(sequence->items.begin(), sequence->items.end(),
                                   [&](const Value& each) { return equal(each, item, budget); });
    return Value(found);
  }
  if (container.is_undefined()) return Value(false);
  return invalid("'in' is not supported with '{}'", type_name(container));
}

Result<Value> contains_not(const Value& item, const Value& container, Budget& budget) {
  SHUNT_ASSIGN(const Value found, contains(item, container, budget));
  return Value(!is_true(found));
}

TracedText escape_html(const TracedText& text) {
  constexpr std::array<std::pair<char, std::string_view>, 5> kEscapes = {
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&#34;"}, {'\'', "&#39;"}}};
  TracedText result;
  const std::string_view view = text.view();
  std::size_t copied = 0;
  for (std::size_t i = 0; i < view.size(); ++i) {
    const auto* found = std::find_if(kEscapes.begin(), kEscapes.end(),
                                     [&](const auto& each) { return each.first == view[i]; });
    if (found == kEscapes.end()) continue;
    result.append(text, copied, i - copied);
    result.append(found->second, text.from_template_at(i));
    copied = i + 1;
  }
  result.append(text, copied, view.size() - copied);
  return result;
}

}  // namespace shunt::text::jinja
