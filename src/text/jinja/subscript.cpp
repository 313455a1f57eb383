// Attributes, elements, slices, and the elements that a loop has.
#include <algorithm>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/bound_function.h"
#include "text/jinja/builtin.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace shunt::text::jinja {
namespace {

/// The name of an element that is not there, for a message.
Undefined missing(const std::string* name) {
  return {name, "is not defined (the value before it has no such attribute or element)"};
}

/// Start, step and number of elements of a slice of `size` elements, as Python's slice.indices().
struct Steps {
  std::int64_t start = 0, step = 1, count = 0;
};

/// An integer of a slice; those beyond 64 bits are beyond all elements. Null for other values.
const std::int64_t* slice_integer_of(const Value& value, std::int64_t& room) {
  const BigInteger* big = value.as<BigInteger>();
  if (big == nullptr) return integer_of(value, room);
  room = big->digits->starts_with('-') ? INT64_MIN : INT64_MAX;
  return &room;
}

Result<Steps> steps_of(const SliceRange& range, std::int64_t size) {
  const auto bound = [&](const Value* value, std::int64_t otherwise,
                         std::int64_t most) -> Result<std::int64_t> {
    if (value == nullptr || value->is_none()) return otherwise;
    std::int64_t room = 0;
    const std::int64_t* integer = slice_integer_of(*value, room);
    if (integer == nullptr) {
      SHUNT_TRY(require_defined(*value));
      return invalid("a slice has integers, not '{}'", type_name(*value));
    }
    const std::int64_t least = most - size;  // -1 for a negative step, else 0
    const std::int64_t index = *integer < 0 ? std::max(*integer, -size - 1) + size : *integer;
    return std::clamp(index, least, most);
  };
  Steps steps;
  if (range.step != nullptr && !range.step->is_none()) {
    std::int64_t room = 0;
    const std::int64_t* step = slice_integer_of(*range.step, room);
    if (step == nullptr) return invalid("the step of a slice is an integer");
    if (*step == 0) return invalid("the step of a slice can't be 0");
    // A longer step takes one element, as this does.
    steps.step = std::clamp(*step, -size - 1, size + 1);
  }
  const bool forward = steps.step > 0;
  const std::int64_t most = forward ? size : size - 1;
  SHUNT_ASSIGN(steps.start, bound(range.start, forward ? 0 : size - 1, most));
  SHUNT_ASSIGN(const std::int64_t stop, bound(range.stop, forward ? size : -1, most));
  const std::int64_t length = forward ? stop - steps.start : steps.start - stop;
  const std::int64_t stride = forward ? steps.step : -steps.step;
  steps.count = length > 0 ? (length + stride - 1) / stride : 0;
  return steps;
}

/// The bounds of a part of a range. They are only shown, and wrap where they are too large.
RangeBounds bounds_of_slice(const RangeBounds& whole, const Steps& steps) {
  const auto number = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t step = number(whole.step) * number(steps.step);
  const std::uint64_t start = number(whole.start) + number(whole.step) * number(steps.start);
  const std::uint64_t stop = start + step * number(steps.count);
  return {static_cast<std::int64_t>(start), static_cast<std::int64_t>(stop),
          static_cast<std::int64_t>(step)};
}

Value slice_text(const TracedText& text, const Steps& steps) {
  if (steps.step == 1) {
    const std::size_t begin = offset_of_character(text.view(), steps.start);
    const std::size_t size = offset_of_character(text.view().substr(begin), steps.count);
    return Value::text(text.part(begin, size));
  }
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < text.size(); i += utf8_size(text.view().substr(i))) {
    offsets.push_back(i);
  }
  TracedText result;
  for (std::int64_t i = 0; i < steps.count; ++i) {
    const std::size_t offset = offsets[static_cast<std::size_t>(steps.start + i * steps.step)];
    result.append(text, offset, utf8_size(text.view().substr(offset)));
  }
  return Value::text(std::move(result));
}

Value element_of_text(const TracedText& text, std::int64_t index, Undefined otherwise) {
  const std::int64_t count = index < 0 ? count_characters(text.view()) : 0;
  if (index < 0) index += count;
  if (index < 0) return Value(otherwise);
  const std::size_t offset = offset_of_character(text.view(), index);
  if (offset >= text.size()) return Value(otherwise);
  return Value::text(text.part(offset, utf8_size(text.view().substr(offset))));
}

/// The element of a tuple of groupby that has a name; null for others.
const Value* named_element(const Value& object, std::string_view name) {
  const Sequence* sequence = object.as_sequence();
  if (sequence == nullptr || !sequence->is_group) return nullptr;
  if (name == "grouper") return &sequence->items[0];
  return name == "list" ? &sequence->items[1] : nullptr;
}

bool has_elements(const Sequence& sequence) {
  return sequence.kind <= Sequence::Kind::kRange;
}

}  // namespace

Result<Value> attribute_of(Run& run, const Value& object, const std::string& name) {
  SHUNT_TRY(require_defined(object));
  if (Object* const* own = object.as<Object*>()) {
    return (*own)->attribute(run, name).value_or(Value(missing(&name)));
  }
  if (name.starts_with("__") || is_mutating_method(object, name)) {
    return Value(Undefined{&name, "is not available to templates"});
  }
  if (const Value* element = named_element(object, name)) return *element;
  if (const Builtin* method = find_method(object, name)) {
    return Value(static_cast<Object*>(run.own<BoundFunction>(*method, object)));
  }
  if (const Mapping* mapping = object.as_mapping()) {
    if (const Value* found = mapping->find(name)) return *found;
  }
  return Value(missing(&name));
}

Result<Value> item_of(Run& run, const Value& object, const Value& index) {
  SHUNT_TRY(require_defined(object));
  if (const Mapping* mapping = object.as_mapping()) {
    if (const Value* found = mapping->find(index, run.budget())) return *found;
  }
  std::int64_t room = 0;
  if (const std::int64_t* integer = integer_of(index, room)) {
    if (const TracedText* text = object.as_text()) {
      SHUNT_TRY(run.budget().make(0));
      return element_of_text(*text, *integer, missing(nullptr));
    }
    const Sequence* sequence = object.as_sequence();
    if (sequence != nullptr && has_elements(*sequence)) {
      const auto size = static_cast<std::int64_t>(sequence->items.size());
      const std::int64_t place = *integer < 0 ? *integer + size : *integer;
      if (place >= 0 && place < size) return sequence->items[static_cast<std::size_t>(place)];
    }
    return Value(missing(nullptr));
  }
  const TracedText* name = index.as_text();
  if (name == nullptr) return Value(missing(nullptr));
  const std::string key(name->view());
  if (Object* const* own = object.as<Object*>()) {
    return (*own)->attribute(run, key).value_or(Value(missing(nullptr)));
  }
  if (key.starts_with("__") || is_mutating_method(object, key)) return Value(missing(nullptr));
  if (const Value* element = named_element(object, key)) return *element;
  if (const Builtin* method = find_method(object, key)) {
    return Value(static_cast<Object*>(run.own<BoundFunction>(*method, object)));
  }
  return Value(missing(nullptr));
}

Result<Value> slice_of(Run& run, const Value& object, const SliceRange& range) {
  SHUNT_TRY(require_defined(object));
  if (const TracedText* text = object.as_text()) {
    SHUNT_ASSIGN(const Steps steps, steps_of(range, count_characters(text->view())));
    SHUNT_TRY(run.budget().make(text->size()));
    return slice_text(*text, steps);
  }
  const Sequence* sequence = object.as_sequence();
  if (sequence == nullptr || !has_elements(*sequence)) {
    return invalid("a '{}' has no slices", type_name(object));
  }
  SHUNT_ASSIGN(const Steps steps,
               steps_of(range, static_cast<std::int64_t>(sequence->items.size())));
  SHUNT_TRY(run.budget().make(static_cast<std::size_t>(steps.count) * sizeof(Value)));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(steps.count));
  for (std::int64_t i = 0; i < steps.count; ++i) {
    items.push_back(sequence->items[static_cast<std::size_t>(steps.start + i * steps.step)]);
  }
  if (sequence->kind != Sequence::Kind::kRange) {
    return make_sequence(std::move(items), sequence->kind);
  }
  return make_range_of(std::move(items), bounds_of_slice(sequence->range, steps));
}

Result<SequencePointer> elements_of(const Value& value, Budget& budget) {
  if (const SequencePointer* sequence = value.as<SequencePointer>()) {
    if ((*sequence)->kind == Sequence::Kind::kIterator) {
      if (std::exchange((*sequence)->spent, true)) return std::make_shared<const Sequence>();
    }
    return *sequence;
  }
  auto elements = std::make_shared<Sequence>();
  if (const Mapping* mapping = value.as_mapping()) {
    SHUNT_TRY(budget.make(mapping->entries().size() * sizeof(Value)));
    for (const auto& entry : mapping->entries()) elements->items.push_back(entry.first);
  } else if (const TracedText* text = value.as_text()) {
    SHUNT_TRY(budget.make(text->size() * sizeof(Value)));
    if (!budget.spend(text->size())) return budget.spent();
    for (std::size_t i = 0; i < text->size(); i += utf8_size(text->view().substr(i))) {
      elements->items.push_back(Value::text(text->part(i, utf8_size(text->view().substr(i)))));
    }
  } else if (!value.is_undefined()) {
    return invalid("a '{}' has no elements to walk over", type_name(value));
  }
  return SequencePointer(std::move(elements));
}

}  // namespace shunt::text::jinja
