// Equality and order of values, as Python has them.
#include <cmath>

#include "shunt/message.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {
namespace {

/// Of a number within 64 bits.
double double_of(const Value& value) {
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(value, room)) return static_cast<double>(*integer);
  return *value.as<double>();
}

bool equal_numbers(const Value& a, const Value& b) {
  std::int64_t room_a = 0;
  std::int64_t room_b = 0;
  const BigInteger* big_a = a.as<BigInteger>();
  const BigInteger* big_b = b.as<BigInteger>();
  if (big_a != nullptr && big_b != nullptr) return *big_a->digits == *big_b->digits;
  if (big_a != nullptr || big_b != nullptr) return false;
  const std::int64_t* integer_a = integer_of(a, room_a);
  const std::int64_t* integer_b = integer_of(b, room_b);
  if (integer_a != nullptr && integer_b != nullptr) return *integer_a == *integer_b;
  return double_of(a) == double_of(b);
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
  if (is_number(a) && is_number(b)) return equal_numbers(a, b);
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
  if (a.as<BigInteger>() == nullptr && b.as<BigInteger>() == nullptr && is_number(a) &&
      is_number(b)) {
    std::int64_t room_a = 0;
    std::int64_t room_b = 0;
    const std::int64_t* integer_a = integer_of(a, room_a);
    const std::int64_t* integer_b = integer_of(b, room_b);
    if (integer_a != nullptr && integer_b != nullptr) return *integer_a < *integer_b;
    return double_of(a) < double_of(b);
  }
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
