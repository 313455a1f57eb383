// Names of types, as Python has them in messages.
#include <array>

#include "text/jinja/object.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Value::Variant>> kTypeNames = {
    "Undefined", "NoneType", "bool", "int", "float", "int", "str", "list", "dict", "object"};
constexpr std::array<std::string_view, 7> kSequenceNames = {
    "list", "tuple", "range", "dict_keys", "dict_values", "dict_items", "generator"};

}  // namespace

std::string_view type_name(const Value& value) {
  if (const Sequence* sequence = value.as_sequence()) {
    return kSequenceNames[static_cast<std::size_t>(sequence->kind)];
  }
  if (Object* const* object = value.as<Object*>()) return (*object)->type_name();
  return kTypeNames[value.variant().index()];
}

}  // namespace shunt::text::jinja
