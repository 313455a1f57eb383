// Tests: "is defined" and so on.
#include <algorithm>
#include <array>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/unicode.h"

namespace shunt::text::jinja {
namespace {

template <bool (*holds)(const Value&)>
Result<Value> check(const Inputs& inputs) {
  return Value(holds(inputs.self));
}

bool is_defined(const Value& value) {
  return !value.is_undefined();
}

bool is_not_defined(const Value& value) {
  return value.is_undefined();
}

bool is_nothing(const Value& value) {
  return value.is_none();
}

template <bool expected>
bool is_flag(const Value& value) {
  const bool* flag = value.as<bool>();
  return flag != nullptr && *flag == expected;
}

template <class... Types>
bool is_any(const Value& value) {
  return ((value.as<Types>() != nullptr) || ...);
}

bool is_mapping(const Value& value) {
  return value.as_mapping() != nullptr;
}

bool is_sequence(const Value& value) {
  const Sequence* sequence = value.as_sequence();
  const bool has_elements = sequence != nullptr && sequence->kind <= Sequence::Kind::kRange;
  return has_elements || is_any<Text, MappingPointer, Undefined>(value);
}

/// As in Jinja, an undefined value is; calling it is an error.
bool is_callable(const Value& value) {
  if (value.is_undefined()) return true;
  Object* const* object = value.as<Object*>();
  return object != nullptr && (*object)->is_callable();
}

bool is_safe(const Value& value) {
  const Text* text = value.as<Text>();
  return text != nullptr && text->safe;
}

template <bool (*is_wanted)(char32_t), bool (*is_other)(char32_t)>
Result<Value> is_in_case_of(const Inputs& inputs) {
  TracedText text;
  SHUNT_TRY(append_text(text, inputs.self, inputs.run.budget()));
  const Value shown = Value::text(std::move(text));
  const Arguments none;
  const Builtin* method = find_method(shown, is_wanted == is_lower ? "islower" : "isupper");
  return call_builtin(inputs.run, *method, shown, none);
}

template <std::int64_t rest>
Result<Value> has_rest(const Inputs& inputs) {
  const BinaryOperator modulo = find_arithmetic("%");
  SHUNT_ASSIGN(const Value result,
               modulo(inputs.self, Value(std::int64_t{2}), inputs.run.budget()));
  return Value(equal(result, Value(rest), inputs.run.budget()));
}

Result<Value> is_divisible(const Inputs& inputs) {
  const BinaryOperator modulo = find_arithmetic("%");
  SHUNT_ASSIGN(const Value result, modulo(inputs.self, *inputs[0], inputs.run.budget()));
  return Value(equal(result, Value(std::int64_t{0}), inputs.run.budget()));
}

Result<Value> is_same(const Inputs& inputs) {
  const Value& a = inputs.self;
  const Value& b = *inputs[0];
  if (a.variant().index() != b.variant().index()) return Value(false);
  if (a.as_sequence() != nullptr) return Value(a.as_sequence() == b.as_sequence());
  if (a.as_mapping() != nullptr) return Value(a.as_mapping() == b.as_mapping());
  return Value(equal(a, b, inputs.run.budget()));
}

Result<Value> is_inside(const Inputs& inputs) {
  return contains(inputs.self, *inputs[0], inputs.run.budget());
}

Result<Value> is_filter_name(const Inputs& inputs) {
  const TracedText* name = inputs.self.as_text();
  return Value(name != nullptr && find_filter(name->view()) != nullptr);
}

Result<Value> is_test_name(const Inputs& inputs) {
  const TracedText* name = inputs.self.as_text();
  return Value(name != nullptr && find_test(name->view()) != nullptr);
}

enum class Order : std::uint8_t { kEqual, kUnequal, kLess, kAtMost, kGreater, kAtLeast };
constexpr std::array<std::string_view, 6> kSymbols = {"==", "!=", "<", "<=", ">", ">="};

template <Order order>
Result<Value> compares(const Inputs& inputs) {
  const BinaryOperator compare = find_comparison(kSymbols[static_cast<std::size_t>(order)]);
  return compare(inputs.self, *inputs[0], inputs.run.budget());
}

constexpr std::array kTests = {
    Builtin{"defined", "", check<is_defined>},
    Builtin{"undefined", "", check<is_not_defined>},
    Builtin{"none", "", check<is_nothing>},
    Builtin{"string", "", check<is_any<Text>>},
    Builtin{"mapping", "", check<is_mapping>},
    Builtin{"iterable", "", check<is_any<Text, SequencePointer, MappingPointer, Undefined>>},
    Builtin{"sequence", "", check<is_sequence>},
    Builtin{"boolean", "", check<is_any<bool>>},
    Builtin{"true", "", check<is_flag<true>>},
    Builtin{"false", "", check<is_flag<false>>},
    Builtin{"integer", "", check<is_any<std::int64_t, BigInteger>>},
    Builtin{"float", "", check<is_any<double>>},
    Builtin{"number", "", check<is_number>},
    Builtin{"callable", "", check<is_callable>},
    Builtin{"escaped", "", check<is_safe>},
    Builtin{"lower", "", is_in_case_of<is_lower, is_upper>},
    Builtin{"upper", "", is_in_case_of<is_upper, is_lower>},
    Builtin{"odd", "", has_rest<1>},
    Builtin{"even", "", has_rest<0>},
    Builtin{"divisibleby", "num!", is_divisible},
    Builtin{"sameas", "other!", is_same},
    Builtin{"in", "seq!", is_inside},
    Builtin{"filter", "", is_filter_name},
    Builtin{"test", "", is_test_name},
    Builtin{"eq", "other!", compares<Order::kEqual>},
    Builtin{"equalto", "other!", compares<Order::kEqual>},
    Builtin{"==", "other!", compares<Order::kEqual>},
    Builtin{"ne", "other!", compares<Order::kUnequal>},
    Builtin{"!=", "other!", compares<Order::kUnequal>},
    Builtin{"lt", "other!", compares<Order::kLess>},
    Builtin{"lessthan", "other!", compares<Order::kLess>},
    Builtin{"<", "other!", compares<Order::kLess>},
    Builtin{"le", "other!", compares<Order::kAtMost>},
    Builtin{"<=", "other!", compares<Order::kAtMost>},
    Builtin{"gt", "other!", compares<Order::kGreater>},
    Builtin{"greaterthan", "other!", compares<Order::kGreater>},
    Builtin{">", "other!", compares<Order::kGreater>},
    Builtin{"ge", "other!", compares<Order::kAtLeast>},
    Builtin{">=", "other!", compares<Order::kAtLeast>},
};

}  // namespace

std::span<const Builtin> tests() {
  return kTests;
}

}  // namespace shunt::text::jinja
