// The values of expressions.
#include <utility>

#include "shunt/message.h"
#include "text/jinja/bound_function.h"
#include "text/jinja/builtin.h"
#include "text/jinja/run.h"
#include "text/jinja/syntax.h"

namespace shunt::text::jinja {
namespace {

/// The value, or the error with the place of the expression.
template <class T>
Result<T> placed(const Expression& expression, Run& run, Result<T> result) {
  if (!result) return run.locate(expression.at, std::move(result.error()));
  return result;
}

Status take_named_rest(const Value& rest, Arguments& arguments) {
  const Mapping* mapping = rest.as_mapping();
  if (mapping == nullptr) return invalid("\"**\" needs a mapping, not '{}'", type_name(rest));
  for (const auto& [key, value] : mapping->entries()) {
    const TracedText* name = key.as_text();
    if (name == nullptr) return invalid("names of arguments are texts");
    arguments.named.emplace_back(name->view(), value);
  }
  return ok();
}

Result<Arguments> evaluate_arguments(const ArgumentList& list, Run& run) {
  Arguments arguments;
  arguments.positional.reserve(list.positional.size());
  for (const auto& expression : list.positional) {
    SHUNT_ASSIGN(Value value, evaluate(*expression, run));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, expression] : list.named) {
    SHUNT_ASSIGN(Value value, evaluate(*expression, run));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (list.rest != nullptr) {
    SHUNT_ASSIGN(const Value rest, evaluate(*list.rest, run));
    SHUNT_ASSIGN(const SequencePointer more,
                 placed(*list.rest, run, elements_of(rest, run.budget())));
    auto& positional = arguments.positional;
    positional.insert(positional.end(), more->items.begin(), more->items.end());
  }
  if (list.named_rest != nullptr) {
    SHUNT_ASSIGN(const Value rest, evaluate(*list.named_rest, run));
    SHUNT_TRY(placed(*list.named_rest, run, take_named_rest(rest, arguments)));
  }
  return arguments;
}

}  // namespace

Result<Value> Constant::compute(Run&) const {
  return value;
}

Result<Value> NameUse::compute(Run& run) const {
  if (const Value* found = run.scope().find(id)) {
    // A name without a value of its own, such as a parameter that was left out.
    const Undefined* undefined = found->as<Undefined>();
    if (undefined != nullptr && undefined->name == nullptr) return Value(Undefined{&name});
    return *found;
  }
  if (const Builtin* global = find_global(name)) {
    return Value(static_cast<Object*>(run.own<BoundFunction>(*global, Value())));
  }
  return Value(Undefined{&name});
}

Result<Value> AttributeUse::compute(Run& run) const {
  SHUNT_ASSIGN(const Value value, evaluate(*object, run));
  return placed(*this, run, attribute_of(run, value, name));
}

Result<Value> ItemUse::compute(Run& run) const {
  SHUNT_ASSIGN(const Value value, evaluate(*object, run));
  SHUNT_ASSIGN(const Value key, evaluate(*index, run));
  return placed(*this, run, item_of(run, value, key));
}

Result<Value> SliceUse::compute(Run& run) const {
  SHUNT_ASSIGN(const Value value, evaluate(*object, run));
  Value parts[3];
  const Expression* expressions[3] = {start.get(), stop.get(), step.get()};
  for (std::size_t i = 0; i < 3; ++i) {
    if (expressions[i] == nullptr) {
      parts[i] = Value(None{});
    } else {
      SHUNT_ASSIGN(parts[i], evaluate(*expressions[i], run));
    }
  }
  return placed(*this, run, slice_of(run, value, {&parts[0], &parts[1], &parts[2]}));
}

Result<Value> SequenceDisplay::compute(Run& run) const {
  std::vector<Value> values;
  values.reserve(items.size());
  for (const auto& item : items) {
    SHUNT_ASSIGN(Value value, evaluate(*item, run));
    values.push_back(std::move(value));
  }
  return placed(*this, run, make_sequence(std::move(values), kind));
}

Result<Value> MappingDisplay::compute(Run& run) const {
  Mapping mapping;
  for (const auto& [key_expression, value_expression] : entries) {
    SHUNT_ASSIGN(Value key, evaluate(*key_expression, run));
    if (!is_hashable(key)) {
      return run.locate(key_expression->at, invalid("a '{}' is no key of a dict", type_name(key)));
    }
    SHUNT_ASSIGN(Value value, evaluate(*value_expression, run));
    mapping.set(std::move(key), std::move(value), run.budget());
  }
  return placed(*this, run, make_mapping(std::move(mapping)));
}

Result<Value> SignUse::compute(Run& run) const {
  SHUNT_ASSIGN(Value value, evaluate(*operand, run));
  static const BinaryOperator subtract = find_arithmetic("-");
  const Value zero(std::int64_t{0});
  const double* number = value.as<double>();
  if (negates && number != nullptr) return Value(-*number);
  // One of two numbers that are negated may have more than 64 bits.
  const BigInteger* big = value.as<BigInteger>();
  const std::int64_t* integer = value.as<std::int64_t>();
  const bool smallest = integer != nullptr && *integer == INT64_MIN;
  if (big != nullptr && !negates) return value;
  if (negates && (big != nullptr || smallest)) {
    const std::string digits = big != nullptr ? *big->digits : std::to_string(*integer);
    return integer_value(digits.starts_with('-') ? digits.substr(1) : "-" + digits);
  }
  return placed(*this, run, (negates ? subtract : add)(zero, value, run.budget()));
}

Result<Value> Arithmetic::compute(Run& run) const {
  SHUNT_ASSIGN(const Value a, evaluate(*left, run));
  SHUNT_ASSIGN(const Value b, evaluate(*right, run));
  return placed(*this, run, apply(a, b, run.budget()));
}

Result<Value> Concatenation::compute(Run& run) const {
  TracedText text;
  for (const auto& part : parts) {
    SHUNT_ASSIGN(const Value value, evaluate(*part, run));
    SHUNT_TRY(placed(*part, run, append_text(text, value, run.budget())));
  }
  SHUNT_TRY(placed(*this, run, run.budget().make(text.size())));
  return Value::text(std::move(text));
}

Result<Value> Comparison::compute(Run& run) const {
  SHUNT_ASSIGN(Value left, evaluate(*first, run));
  Value result(true);
  for (const auto& [compare, expression] : others) {
    SHUNT_ASSIGN(Value right, evaluate(*expression, run));
    SHUNT_ASSIGN(result, placed(*expression, run, compare(left, right, run.budget())));
    if (!is_true(result)) break;
    left = std::move(right);
  }
  return result;
}

Result<Value> Logic::compute(Run& run) const {
  SHUNT_ASSIGN(Value value, evaluate(*left, run));
  if (is_true(value) != is_and) return value;
  return evaluate(*right, run);
}

Result<Value> NotUse::compute(Run& run) const {
  SHUNT_ASSIGN(const Value value, evaluate(*operand, run));
  return Value(!is_true(value));
}

Result<Value> Choice::compute(Run& run) const {
  SHUNT_ASSIGN(const Value decision, evaluate(*condition, run));
  if (is_true(decision)) return evaluate(*then, run);
  if (otherwise != nullptr) return evaluate(*otherwise, run);
  return Value(Undefined{nullptr, "of an \"if\" without \"else\" is not defined"});
}

Result<Value> BuiltinUse::apply(Run& run, const Value& input) const {
  if (builtin == nullptr) {
    return run.locate(at, invalid("there is no {} \"{}\"", is_filter ? "filter" : "test", name));
  }
  SHUNT_ASSIGN(const Arguments values, evaluate_arguments(arguments, run));
  return placed(*this, run, call_builtin(run, *builtin, input, values));
}

Result<Value> BuiltinUse::compute(Run& run) const {
  SHUNT_ASSIGN(const Value input, evaluate(*operand, run));
  return apply(run, input);
}

Result<Value> CallUse::compute(Run& run) const {
  return call(run, nullptr);
}

Result<Value> CallUse::call(Run& run, Object* caller) const {
  Value function;
  if (attribute != nullptr) {
    SHUNT_ASSIGN(const Value self, evaluate(*attribute->object, run));
    if (const Builtin* method = find_method(self, attribute->name)) {
      SHUNT_ASSIGN(const Arguments values, evaluate_arguments(arguments, run));
      return placed(*attribute, run, call_builtin(run, *method, self, values));
    }
    SHUNT_ASSIGN(function, placed(*attribute, run, attribute_of(run, self, attribute->name)));
  } else {
    SHUNT_ASSIGN(function, evaluate(*callee, run));
  }
  SHUNT_TRY(placed(*callee, run, require_defined(function)));
  Object* const* object = function.as<Object*>();
  if (object == nullptr || !(*object)->is_callable()) {
    return run.locate(callee->at, invalid("a '{}' can't be called", type_name(function)));
  }
  SHUNT_ASSIGN(Arguments values, evaluate_arguments(arguments, run));
  if (caller != nullptr) values.named.emplace_back("caller", Value(caller));
  auto result = (*object)->call(run, std::move(values));
  if (!result && !(*object)->places_errors()) {
    return run.locate(callee->at, std::move(result.error()));
  }
  return result;
}

}  // namespace shunt::text::jinja
