// Filters that apply others to each element: map, select and their like; and default, attr,
// groupby.
#include <algorithm>
#include <array>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/builtin.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"

namespace shunt::text::jinja {
namespace {

/// The elements of a value. A false value of any type has none.
Result<SequencePointer> elements_if_true(const Inputs& inputs) {
  if (!is_true(inputs.self)) return std::make_shared<const Sequence>();
  return elements_of(inputs.self, inputs.run.budget());
}

/// A filter or a test by the name in argument `index`, and the arguments behind it.
struct NamedCall {
  const Builtin* builtin = nullptr;
  Arguments arguments;
};
Result<NamedCall> named_call(const Inputs& inputs, std::size_t index,
                             const Builtin* (*find)(std::string_view)) {
  const auto& positional = inputs.all.positional;
  const TracedText* name = positional[index].as_text();
  if (name == nullptr) return invalid("expected the name of a filter or test");
  NamedCall call;
  call.builtin = find(name->view());
  if (call.builtin == nullptr) return invalid("there is no filter or test \"{}\"", name->view());
  const auto first = positional.begin() + static_cast<std::ptrdiff_t>(index) + 1;
  call.arguments.positional.assign(first, positional.end());
  call.arguments.named = inputs.all.named;
  return call;
}

const Value* named_argument(const Inputs& inputs, std::string_view name) {
  for (const auto& [key, value] : inputs.all.named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<Value> iterator_of(const Inputs& inputs, std::vector<Value> items) {
  SHUNT_TRY(inputs.run.budget().make(items.size() * sizeof(Value)));
  return make_sequence(std::move(items), Sequence::Kind::kIterator);
}

Result<Value> mapped_attributes(const Inputs& inputs, const Value& path) {
  const Value* otherwise = named_argument(inputs, "default");
  const std::size_t known = otherwise == nullptr ? 1 : 2;
  if (inputs.all.named.size() > known) return invalid("map takes \"attribute\" and \"default\"");
  SHUNT_ASSIGN(const SequencePointer items, elements_if_true(inputs));
  std::vector<Value> results;
  for (const Value& item : items->items) {
    SHUNT_ASSIGN(Value result, attribute_at(inputs.run, item, &path, otherwise));
    results.push_back(std::move(result));
    if (!inputs.run.budget().spend(1)) return inputs.run.budget().spent();
  }
  return iterator_of(inputs, std::move(results));
}

Result<Value> mapped(const Inputs& inputs) {
  const Value* path = named_argument(inputs, "attribute");
  if (inputs.all.positional.empty() && path != nullptr) return mapped_attributes(inputs, *path);
  if (inputs.all.positional.empty()) return invalid("map needs a filter or an attribute");
  SHUNT_ASSIGN(const NamedCall call, named_call(inputs, 0, find_filter));
  SHUNT_ASSIGN(const SequencePointer items, elements_if_true(inputs));
  std::vector<Value> results;
  for (const Value& item : items->items) {
    SHUNT_ASSIGN(Value result, call_builtin(inputs.run, *call.builtin, item, call.arguments));
    results.push_back(std::move(result));
  }
  return iterator_of(inputs, std::move(results));
}

/// Elements for which a test has the result `wanted`; by an attribute of them or as they are.
template <bool by_attribute, bool wanted>
Result<Value> selected(const Inputs& inputs) {
  const auto& positional = inputs.all.positional;
  const std::size_t test_index = by_attribute ? 1 : 0;
  if (by_attribute && positional.empty()) return invalid("the name of an attribute is missing");
  NamedCall call;
  if (positional.size() > test_index) {
    SHUNT_ASSIGN(call, named_call(inputs, test_index, find_test));
  }
  SHUNT_ASSIGN(const SequencePointer items, elements_if_true(inputs));
  std::vector<Value> results;
  for (const Value& item : items->items) {
    SHUNT_ASSIGN(Value value,
                 attribute_at(inputs.run, item, by_attribute ? &positional[0] : nullptr));
    if (call.builtin != nullptr) {
      SHUNT_ASSIGN(value, call_builtin(inputs.run, *call.builtin, value, call.arguments));
    } else if (!inputs.run.budget().spend(1)) {
      return inputs.run.budget().spent();
    }
    if (is_true(value) == wanted) results.push_back(item);
  }
  return iterator_of(inputs, std::move(results));
}

Result<Value> value_or(const Inputs& inputs) {
  const bool replaces_false = inputs.flag(1, false) && !is_true(inputs.self);
  if (!inputs.self.is_undefined() && !replaces_false) return inputs.self;
  return inputs[0] == nullptr ? Value::text(std::string(), true) : *inputs[0];
}

/// An attribute, without the elements of a mapping.
Result<Value> attribute_only(const Inputs& inputs) {
  SHUNT_ASSIGN(const TracedText* name, inputs.text(0));
  if (name == nullptr) return invalid("attr needs a name");
  const bool is_element =
      inputs.self.as_mapping() != nullptr && find_method(inputs.self, name->view()) == nullptr;
  if (is_element) return Value(Undefined{nullptr, "has no such attribute"});
  SHUNT_ASSIGN(Value value, attribute_of(inputs.run, inputs.self, std::string(name->view())));
  // The name of an undefined value must live as long as the template.
  if (value.is_undefined()) return Value(Undefined{nullptr, "has no such attribute"});
  return value;
}

/// Lists of a key and the elements that have it, by ascending keys.
Result<Value> groups(const Inputs& inputs) {
  Budget& budget = inputs.run.budget();
  SHUNT_ASSIGN(const SequencePointer items, elements_of(inputs.self, budget));
  const bool keeps_case = inputs.flag(2, false);
  const auto key_of_element = [&](const Value& item) {
    return attribute_at(inputs.run, item, inputs[0], inputs[1]);
  };
  std::vector<KeyedValue> keyed;
  for (const Value& item : items->items) {
    SHUNT_ASSIGN(const Value key, key_of_element(item));
    keyed.push_back({keeps_case ? key : without_case(key), item});
  }
  SHUNT_ASSIGN(const std::vector<Value> sorted, sort_by_key(std::move(keyed), false, budget));
  std::vector<Value> result;
  for (std::size_t begin = 0; begin < sorted.size();) {
    SHUNT_ASSIGN(const Value key, key_of_element(sorted[begin]));
    const Value compared = keeps_case ? key : without_case(key);
    std::vector<Value> group;
    std::size_t end = begin;
    for (; end < sorted.size(); ++end) {
      SHUNT_ASSIGN(const Value other, key_of_element(sorted[end]));
      if (!equal(keeps_case ? other : without_case(other), compared, budget)) break;
      group.push_back(sorted[end]);
    }
    if (budget.is_spent()) return budget.spent();
    begin = end;
    SHUNT_ASSIGN(Value list, make_sequence(std::move(group)));
    SHUNT_ASSIGN(Value pair, make_group(key, std::move(list)));
    result.push_back(std::move(pair));
  }
  return make_sequence(std::move(result));
}

constexpr std::array kSelectionFilters = {
    Builtin{"default", "default_value boolean", value_or},
    Builtin{"d", "default_value boolean", value_or},
    Builtin{"map", "*", mapped},
    Builtin{"select", "*", selected<false, true>},
    Builtin{"reject", "*", selected<false, false>},
    Builtin{"selectattr", "*", selected<true, true>},
    Builtin{"rejectattr", "*", selected<true, false>},
    Builtin{"attr", "name!", attribute_only},
    Builtin{"groupby", "attribute! default case_sensitive", groups},
};

}  // namespace

std::span<const Builtin> selection_filters() {
  return kSelectionFilters;
}

}  // namespace shunt::text::jinja
