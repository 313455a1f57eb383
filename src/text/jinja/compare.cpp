// Equality and order of values, as Python has them.
#include <cmath>
#include <compare>
#include <string_view>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {
namespace {

/// Of two numbers of one sign, by their digits.
std::strong_ordering order_of_digits(std::string_view a, std::string_view b) {
  const bool negative = a.starts_with('-');
  if (negative) std::swap(a, b);
  const auto by_size = a.size() <=> b.size();
  return by_size != 0 ? by_size : a.compare(b) <=> 0;
}

/// An integer of any size and a float, exactly.
std::partial_ordering order_of_big(const BigInteger& a, double b) {
  const bool negative = a.digits->starts_with('-');
  if (std::isnan(b)) return std::partial_ordering::unordered;
  // All other integers are beyond 64 bits.
  constexpr double kLimit = 9223372036854775808.0;
  if (negative ? b > -kLimit : b < kLimit)
    return negative ? std::partial_ordering::less : std::partial_ordering::greater;
  if (std::isinf(b)) return negative ? std::partial_ordering::greater : std::partial_ordering::less;
  return order_of_digits(*a.digits, fmt::format("{:.0f}", b));
}

std::partial_ordering order_of_integer(std::int64_t a, double b) {
  constexpr double kLimit = 9223372036854775808.0;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kLimit) return std::partial_ordering::less;
  if (b < -kLimit) return std::partial_ordering::greater;
  const double whole = std::floor(b);
  const auto order = a <=> static_cast<std::int64_t>(whole);
  return order == 0 && b > whole ? std::partial_ordering::less : std::partial_ordering(order);
}

/// Of numbers, exactly: no integer is rounded to a float.
std::partial_ordering order_of_numbers(const Value& a, const Value& b) {
  const double* float_a = a.as<double>();
  const double* float_b = b.as<double>();
  const BigInteger* big_a = a.as<BigInteger>();
  const BigInteger* big_b = b.as<BigInteger>();
  if (float_a != nullptr && float_b != nullptr) return *float_a <=> *float_b;
  if (float_a != nullptr) return 0 <=> order_of_numbers(b, a);
  std::int64_t room_a = 0;
  std::int64_t room_b = 0;
  const std::int64_t* integer_a = integer_of(a, room_a);
  const std::int64_t* integer_b = integer_of(b, room_b);
  if (float_b != nullptr)
    return big_a != nullptr ? order_of_big(*big_a, *float_b)
                            : order_of_integer(*integer_a, *float_b);
  if (integer_a != nullptr && integer_b != nullptr) return *integer_a <=> *integer_b;
  const auto sign = [](const BigInteger* big) {
    return big == nullptr ? 0 : big->digits->starts_with('-') ? -1 : 1;
  };
  const auto by_sign = sign(big_a) <=> sign(big_b);
  return by_sign != 0 ? by_sign : order_of_digits(*big_a->digits, *big_b->digits);
}

bool equal_sequences(const Sequence& a, const Sequence& b, Budget& budget) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!equal(a.items[i], b.items[i], budget)) return false;
  }
  return true;
}

bool equal_mappings(const Mapping& a, const Mapping& b, Budget& budget) {
  if (&a == &b) return true;
  if (a.entries().size() != b.entries().size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* other = b.find(key, budget);
    if (other == nullptr || !equal(value, *other, budget)) return false;
  }
  return true;
}

Result<bool> less_sequences(const Sequence& a, const Sequence& b, Budget& budget) {
  for (std::size_t i = 0; i < a.items.size() && i < b.items.size(); ++i) {
    if (!equal(a.items[i], b.items[i], budget)) return less(a.items[i], b.items[i], budget);
  }
  return a.items.size() < b.items.size();
}

}  // namespace

bool equal(const Value& a, const Value& b, Budget& budget) {
  if (!budget.spend(1)) return false;
  if (is_number(a) && is_number(b)) return order_of_numbers(a, b) == 0;
  if (a.variant().index() != b.variant().index()) return false;
  if (const TracedText* text = a.as_text()) return text->view() == b.as_text()->view();
  if (const Sequence* sequence = a.as_sequence()) {
    return equal_sequences(*sequence, *b.as_sequence(), budget);
  }
  if (const Mapping* mapping = a.as_mapping()) {
    return equal_mappings(*mapping, *b.as_mapping(), budget);
  }
  if (Object* const* object = a.as<Object*>()) return *object == *b.as<Object*>();
  return true;  // none and none, undefined and undefined
}

Result<bool> less(const Value& a, const Value& b, Budget& budget) {
  if (!budget.spend(1)) return budget.spent();
  if (is_number(a) && is_number(b)) return order_of_numbers(a, b) < 0;
  const TracedText* text_a = a.as_text();
  const TracedText* text_b = b.as_text();
  // The order of UTF-8 is that of code points.
  if (text_a != nullptr && text_b != nullptr) return text_a->view() < text_b->view();
  const Sequence* list_a = a.as_sequence();
  const Sequence* list_b = b.as_sequence();
  if (list_a != nullptr && list_b != nullptr && list_a->kind == list_b->kind &&
      list_a->kind <= Sequence::Kind::kTuple) {
    return less_sequences(*list_a, *list_b, budget);
  }
  return invalid("'<' is not supported between '{}' and '{}'", type_name(a), type_name(b));
}

}  // namespace shunt::text::jinja
