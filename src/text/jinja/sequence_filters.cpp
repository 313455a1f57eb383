// Filters of lists: elements, order, parts.
#include <algorithm>
#include <array>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/builtin.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

Result<SequencePointer> input_elements(const Inputs& inputs) {
  return elements_of(inputs.self, inputs.run.budget());
}

/// A list of new elements, which took steps.
Result<Value> made_list(const Inputs& inputs, std::vector<Value> items,
                        Sequence::Kind kind = Sequence::Kind::kList) {
  SHUNT_TRY(inputs.run.budget().make(items.size() * sizeof(Value)));
  if (!inputs.run.budget().spend(items.size())) return inputs.run.budget().spent();
  return make_sequence(std::move(items), kind);
}

bool is_one_shot(const Value& value) {
  const Sequence* sequence = value.as_sequence();
  return sequence != nullptr && sequence->kind == Sequence::Kind::kIterator;
}

Result<Value> first_element(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  if (items->items.empty()) return Value(Undefined{nullptr, "of an empty list is not defined"});
  return items->items.front();
}

Result<Value> last_element(const Inputs& inputs) {
  if (is_one_shot(inputs.self)) return invalid("a 'generator' has no last element; use list");
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  if (items->items.empty()) return Value(Undefined{nullptr, "of an empty list is not defined"});
  return items->items.back();
}

Result<Value> number_of_elements(const Inputs& inputs) {
  if (const TracedText* text = inputs.self.as_text()) {
    SHUNT_TRY(inputs.run.budget().make(text->size()));
    return Value(count_characters(text->view()));
  }
  if (const Mapping* mapping = inputs.self.as_mapping()) {
    return Value(static_cast<std::int64_t>(mapping->entries().size()));
  }
  if (inputs.self.is_undefined()) return Value(std::int64_t{0});
  const Sequence* sequence = inputs.self.as_sequence();
  if (sequence == nullptr || is_one_shot(inputs.self)) {
    return invalid("a '{}' has no length", type_name(inputs.self));
  }
  return Value(static_cast<std::int64_t>(sequence->items.size()));
}

Result<Value> input_as_list(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  return made_list(inputs, items->items);
}

Result<Value> joined_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  Budget& budget = inputs.run.budget();
  TracedText separator;
  if (inputs[0] != nullptr) SHUNT_TRY(append_text(separator, *inputs[0], budget));
  TracedText result;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    if (i > 0) result.append(separator);
    SHUNT_ASSIGN(const Value item, attribute_at(inputs.run, items->items[i], inputs[1]));
    SHUNT_TRY(append_text(result, item, budget));
    SHUNT_TRY(budget.make(separator.size()));
    SHUNT_TRY(budget.fits(result.size()));
  }
  SHUNT_TRY(budget.make(result.size()));
  return Value::text(std::move(result));
}

Result<Value> reversed_input(const Inputs& inputs) {
  if (inputs.self.as_text() != nullptr) {
    const Value minus_one(std::int64_t{-1});
    return slice_of(inputs.run, inputs.self, {nullptr, nullptr, &minus_one});
  }
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  std::vector<Value> reversed(items->items.rbegin(), items->items.rend());
  const auto kind = is_one_shot(inputs.self) ? Sequence::Kind::kList : Sequence::Kind::kIterator;
  return made_list(inputs, std::move(reversed), kind);
}

Result<Value> entries_of_input(const Inputs& inputs) {
  if (inputs.self.is_undefined()) return made_list(inputs, {}, Sequence::Kind::kIterator);
  const Mapping* mapping = inputs.self.as_mapping();
  if (mapping == nullptr) return invalid("items needs a mapping, not '{}'", type_name(inputs.self));
  std::vector<Value> items;
  for (const auto& [key, value] : mapping->entries()) {
    SHUNT_ASSIGN(Value pair, make_sequence({key, value}, Sequence::Kind::kTuple));
    items.push_back(std::move(pair));
  }
  return made_list(inputs, std::move(items), Sequence::Kind::kIterator);
}

Result<Value> sorted_entries(const Inputs& inputs) {
  const Mapping* mapping = inputs.self.as_mapping();
  if (mapping == nullptr) {
    SHUNT_TRY(require_defined(inputs.self));
    return invalid("dictsort needs a mapping, not '{}'", type_name(inputs.self));
  }
  SHUNT_ASSIGN(const TracedText* by, inputs.text(1));
  if (by != nullptr && by->view() != "key" && by->view() != "value") {
    return invalid("dictsort sorts by \"key\" or \"value\"");
  }
  const bool by_value = by != nullptr && by->view() == "value";
  std::vector<KeyedValue> keyed;
  for (const auto& [key, value] : mapping->entries()) {
    SHUNT_ASSIGN(Value pair, make_sequence({key, value}, Sequence::Kind::kTuple));
    const Value& chosen = by_value ? value : key;
    keyed.push_back({inputs.flag(0, false) ? chosen : without_case(chosen), std::move(pair)});
  }
  SHUNT_ASSIGN(std::vector<Value> items,
               sort_by_key(std::move(keyed), inputs.flag(2, false), inputs.run.budget()));
  return made_list(inputs, std::move(items));
}

/// The elements with their keys: the attribute at parameter `attribute`.
Result<std::vector<KeyedValue>> keyed_elements(const Inputs& inputs, std::size_t attribute,
                                               bool keeps_case) {
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  if (!inputs.run.budget().spend(items->items.size())) return inputs.run.budget().spent();
  std::vector<KeyedValue> keyed;
  for (const Value& item : items->items) {
    SHUNT_ASSIGN(const Value key, attribute_at(inputs.run, item, inputs[attribute]));
    keyed.push_back({keeps_case ? key : without_case(key), item});
  }
  return keyed;
}

Result<Value> sorted_input(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer elements, input_elements(inputs));
  if (!inputs.run.budget().spend(elements->items.size())) return inputs.run.budget().spent();
  std::vector<KeyedValue> keyed;
  for (const Value& item : elements->items) {
    SHUNT_ASSIGN(Value key, attributes_at(inputs.run, item, inputs[2], inputs.flag(1, false)));
    keyed.push_back({std::move(key), item});
  }
  SHUNT_ASSIGN(std::vector<Value> items,
               sort_by_key(std::move(keyed), inputs.flag(0, false), inputs.run.budget()));
  return made_list(inputs, std::move(items));
}

Result<Value> unique_elements(const Inputs& inputs) {
  SHUNT_ASSIGN(const auto keyed, keyed_elements(inputs, 1, inputs.flag(0, false)));
  Mapping seen;
  std::vector<Value> items;
  Budget& budget = inputs.run.budget();
  for (const KeyedValue& each : keyed) {
    if (!is_hashable(each.key)) return invalid("unique needs values that can be keys");
    if (budget.is_spent()) return budget.spent();
    if (seen.find(each.key, budget) != nullptr) continue;
    seen.set(each.key, Value(true), budget);
    items.push_back(each.value);
  }
  return made_list(inputs, std::move(items), Sequence::Kind::kIterator);
}

template <bool greatest>
Result<Value> extreme_element(const Inputs& inputs) {
  SHUNT_ASSIGN(const auto keyed, keyed_elements(inputs, 1, inputs.flag(0, false)));
  if (keyed.empty()) return Value(Undefined{nullptr, "of an empty list is not defined"});
  std::size_t best = 0;
  for (std::size_t i = 1; i < keyed.size(); ++i) {
    const Value& a = greatest ? keyed[best].key : keyed[i].key;
    const Value& b = greatest ? keyed[i].key : keyed[best].key;
    SHUNT_ASSIGN(const bool better, less(a, b, inputs.run.budget()));
    if (better) best = i;
  }
  return keyed[best].value;
}

Result<Value> sum_of_elements(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  Value sum = inputs[1] == nullptr ? Value(std::int64_t{0}) : *inputs[1];
  for (const Value& item : items->items) {
    SHUNT_ASSIGN(const Value value, attribute_at(inputs.run, item, inputs[0]));
    SHUNT_ASSIGN(sum, add(sum, value, inputs.run.budget()));
    if (!inputs.run.budget().spend(1)) return inputs.run.budget().spent();
  }
  return sum;
}

/// Lists of `count` elements each, the last one filled up.
Result<Value> batches(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  SHUNT_ASSIGN(const std::int64_t count, inputs.integer(0, 1));
  std::vector<Value> result;
  std::vector<Value> part;
  const auto finish = [&]() -> Status {
    SHUNT_ASSIGN(Value list, made_list(inputs, std::exchange(part, {})));
    result.push_back(std::move(list));
    return ok();
  };
  for (const Value& item : items->items) {
    // A count below 1 is never reached again, as in Jinja.
    if (static_cast<std::int64_t>(part.size()) == count) SHUNT_TRY(finish());
    part.push_back(item);
  }
  if (!part.empty()) {
    const bool fills = inputs[1] != nullptr && !inputs[1]->is_none() &&
                       static_cast<std::int64_t>(part.size()) < count;
    SHUNT_TRY(inputs.run.budget().make(fills ? static_cast<std::size_t>(count) : 0));
    if (fills) part.resize(static_cast<std::size_t>(count), *inputs[1]);
    SHUNT_TRY(finish());
  }
  return made_list(inputs, std::move(result), Sequence::Kind::kIterator);
}

/// `count` lists of nearly the same length.
Result<Value> columns(const Inputs& inputs) {
  SHUNT_ASSIGN(const SequencePointer items, input_elements(inputs));
  SHUNT_ASSIGN(const std::int64_t count, inputs.integer(0, 1));
  const auto size = static_cast<std::int64_t>(items->items.size());
  if (count == 0) return invalid("slice can't make 0 parts");
  SHUNT_TRY(inputs.run.budget().make(static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  std::vector<Value> result;
  auto next = items->items.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = size / count + (i < size % count ? 1 : 0);
    std::vector<Value> part(next, next + length);
    next += length;
    const bool fills = inputs[1] != nullptr && !inputs[1]->is_none() && i >= size % count;
    if (fills) part.push_back(*inputs[1]);
    SHUNT_ASSIGN(Value list, made_list(inputs, std::move(part)));
    result.push_back(std::move(list));
  }
  return made_list(inputs, std::move(result), Sequence::Kind::kIterator);
}

constexpr std::array kSequenceFilters = {
    Builtin{"length", "", number_of_elements},
    Builtin{"count", "", number_of_elements},
    Builtin{"join", "d attribute", joined_input},
    Builtin{"first", "", first_element},
    Builtin{"last", "", last_element},
    Builtin{"list", "", input_as_list},
    Builtin{"items", "", entries_of_input},
    Builtin{"reverse", "", reversed_input},
    Builtin{"dictsort", "case_sensitive by reverse", sorted_entries},
    Builtin{"sort", "reverse case_sensitive attribute", sorted_input},
    Builtin{"unique", "case_sensitive attribute", unique_elements},
    Builtin{"min", "case_sensitive attribute", extreme_element<false>},
    Builtin{"max", "case_sensitive attribute", extreme_element<true>},
    Builtin{"sum", "attribute start", sum_of_elements},
    Builtin{"batch", "linecount! fill_with", batches},
    Builtin{"slice", "slices! fill_with", columns},
};

}  // namespace

std::span<const Builtin> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace shunt::text::jinja
