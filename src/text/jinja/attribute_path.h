// Attributes of elements by a path such as "function.name" or "0.id", and sorting by them.
#pragma once

#include <vector>

#include "shunt/error.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

class Run;

/// The element itself if `path` is null or none. `otherwise`, unless null or none, stands for each
/// part that is not there.
Result<Value> attribute_at(Run& run, const Value& element, const Value* path,
                           const Value* otherwise = nullptr);
/// The attributes of several paths with commas between them, as a tuple. Tuples of values without
/// an order can be compared if they are equal.
Result<Value> attributes_at(Run& run, const Value& element, const Value* paths, bool keeps_case);

/// A text in lower case; other values unchanged.
Value without_case(const Value& value);

struct KeyedValue {
  Value key;
  Value value;
};
/// The values by ascending keys; equal ones keep their order, also where `reverse` turns it.
Result<std::vector<Value>> sort_by_key(std::vector<KeyedValue> keyed, bool reverse, Budget& budget);

}  // namespace shunt::text::jinja
