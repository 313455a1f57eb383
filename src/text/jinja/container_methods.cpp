// Methods of lists and mappings.
#include <array>
#include <utility>

#include "shunt/message.h"
#include "text/jinja/builtin.h"
#include "text/jinja/run.h"

namespace shunt::text::jinja {
namespace {

using Entry = Mapping::Entry;

/// A view with one element for each entry of the mapping.
template <class Function>
Result<Value> view_of(const Inputs& inputs, Sequence::Kind kind, Function element) {
  const auto& entries = inputs.self.as_mapping()->entries();
  SHUNT_TRY(inputs.run.budget().make(entries.size() * sizeof(Value)));
  std::vector<Value> items;
  items.reserve(entries.size());
  for (const Entry& entry : entries) {
    SHUNT_ASSIGN(Value item, element(entry));
    items.push_back(std::move(item));
  }
  return make_sequence(std::move(items), kind);
}

Result<Value> entries_of(const Inputs& inputs) {
  return view_of(inputs, Sequence::Kind::kItems, [](const Entry& entry) {
    return make_sequence({entry.first, entry.second}, Sequence::Kind::kTuple);
  });
}

Result<Value> keys_of(const Inputs& inputs) {
  return view_of(inputs, Sequence::Kind::kKeys,
                 [](const Entry& entry) { return Result<Value>(entry.first); });
}

Result<Value> values_of(const Inputs& inputs) {
  return view_of(inputs, Sequence::Kind::kValues,
                 [](const Entry& entry) { return Result<Value>(entry.second); });
}

Result<Value> value_or_default(const Inputs& inputs) {
  if (!is_hashable(*inputs[0])) return invalid("a '{}' is no key of a dict", type_name(*inputs[0]));
  const Value* found = inputs.self.as_mapping()->find(*inputs[0], inputs.run.budget());
  if (found != nullptr) return *found;
  return inputs[1] == nullptr ? Value(None{}) : *inputs[1];
}

Result<Value> copied(const Inputs& inputs) {
  return inputs.self;
}

Result<Value> count_in_list(const Inputs& inputs) {
  std::int64_t count = 0;
  for (const Value& item : inputs.self.as_sequence()->items) {
    if (equal(item, *inputs[0], inputs.run.budget())) ++count;
  }
  return Value(count);
}

Result<Value> index_in_list(const Inputs& inputs) {
  const auto& items = inputs.self.as_sequence()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(items[i], *inputs[0], inputs.run.budget())) {
      return Value(static_cast<std::int64_t>(i));
    }
  }
  return invalid("the element to look for is not in the list");
}

constexpr std::array kMappingMethods = {
    Builtin{"items", "", entries_of}, Builtin{"get", "key! default", value_or_default},
    Builtin{"keys", "", keys_of},     Builtin{"values", "", values_of},
    Builtin{"copy", "", copied},
};
constexpr std::array kSequenceMethods = {
    Builtin{"count", "value!", count_in_list},
    Builtin{"index", "value!", index_in_list},
};
constexpr std::array kListMethods = {Builtin{"copy", "", copied}};

}  // namespace

std::span<const Builtin> mapping_methods() {
  return kMappingMethods;
}

std::span<const Builtin> sequence_methods() {
  return kSequenceMethods;
}

std::span<const Builtin> list_methods() {
  return kListMethods;
}

}  // namespace shunt::text::jinja
