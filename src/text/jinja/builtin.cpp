#include "text/jinja/builtin.h"

#include <algorithm>
#include <initializer_list>

#include "shunt/message.h"
#include "text/jinja/operators.h"
#include "text/jinja/run.h"

namespace shunt::text::jinja {
namespace {

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Builtin& each) { return each.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Builtin* find_in_all(std::initializer_list<std::span<const Builtin>> tables,
                           std::string_view name) {
  for (const auto table : tables) {
    if (const Builtin* found = find_in(table, name)) return found;
  }
  return nullptr;
}

constexpr std::array<std::string_view, 8> kListMutations = {"append", "clear",  "extend",  "insert",
                                                            "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> kMappingMutations = {"clear", "pop", "popitem",
                                                               "setdefault", "update"};

/// The names of Builtin::parameters one by one.
struct Parameter {
  std::string_view name;
  bool is_required = false;
};
Parameter next_parameter(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  Parameter parameter{rest.substr(0, end)};
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (parameter.name.ends_with('!')) {
    parameter.is_required = true;
    parameter.name.remove_suffix(1);
  }
  return parameter;
}

/// Fills in Inputs::given.
Status match(const Builtin& builtin, Inputs& inputs) {
  const Arguments& arguments = inputs.all;
  std::string_view rest = builtin.parameters;
  std::size_t count = 0;
  std::size_t matched = 0;
  for (; !rest.empty(); ++count) {
    const Parameter parameter = next_parameter(rest);
    const Value*& given = inputs.given[count];
    if (count < arguments.positional.size()) given = &arguments.positional[count];
    for (const auto& [name, value] : arguments.named) {
      if (name != parameter.name) continue;
      if (given != nullptr) {
        return invalid("{}() got two values for \"{}\"", builtin.name, parameter.name);
      }
      given = &value;
      ++matched;
    }
    if (given == nullptr && parameter.is_required) {
      return invalid("{}() needs a value for \"{}\"", builtin.name, parameter.name);
    }
  }
  if (arguments.positional.size() > count) {
    return invalid("{}() takes {}, not {}", builtin.name, counted(count, "argument"),
                   arguments.positional.size());
  }
  if (matched != arguments.named.size()) {
    return invalid("{}() takes no argument of the name \"{}\"", builtin.name,
                   arguments.named.back().first);
  }
  return ok();
}

}  // namespace

Result<std::int64_t> Inputs::integer(std::size_t parameter, std::int64_t otherwise) const {
  const Value* value = given[parameter];
  if (value == nullptr || value->is_none()) return otherwise;
  std::int64_t room = 0;
  if (const std::int64_t* number = integer_of(*value, room)) return *number;
  SHUNT_TRY(require_defined(*value));
  if (value->as<BigInteger>() != nullptr) return beyond_64_bits();
  return invalid("expected an integer, not '{}'", type_name(*value));
}

bool Inputs::flag(std::size_t parameter, bool otherwise) const {
  return given[parameter] == nullptr ? otherwise : is_true(*given[parameter]);
}

Result<const TracedText*> Inputs::text(std::size_t parameter) const {
  const Value* value = given[parameter];
  if (value == nullptr || value->is_none()) return nullptr;
  if (const TracedText* text = value->as_text()) return text;
  SHUNT_TRY(require_defined(*value));
  return invalid("expected a str, not '{}'", type_name(*value));
}

Result<Value> Object::call(Run&, Arguments&&) {
  return invalid("a '{}' can't be called", type_name());
}

Result<Value> call_builtin(Run& run, const Builtin& builtin, const Value& self,
                           const Arguments& arguments) {
  if (!run.budget().spend(1)) return run.budget().spent();
  Inputs inputs{run, self, arguments, {}};
  if (builtin.parameters != "*") SHUNT_TRY(match(builtin, inputs));
  return builtin.function(inputs);
}

const Builtin* find_filter(std::string_view name) {
  return find_in_all({text_filters(), sequence_filters(), selection_filters(), number_filters(),
                      markup_filters(), layout_filters()},
                     name);
}

const Builtin* find_test(std::string_view name) {
  return find_in(tests(), name);
}

const Builtin* find_global(std::string_view name) {
  return find_in(globals(), name);
}

const Builtin* find_method(const Value& self, std::string_view name) {
  if (self.as_text() != nullptr) {
    return find_in_all({text_methods(), text_search_methods()}, name);
  }
  if (self.as_mapping() != nullptr) return find_in(mapping_methods(), name);
  const Sequence* sequence = self.as_sequence();
  if (sequence == nullptr || sequence->kind > Sequence::Kind::kRange) return nullptr;
  const bool is_list = sequence->kind == Sequence::Kind::kList;
  if (is_list) return find_in_all({sequence_methods(), list_methods()}, name);
  return find_in(sequence_methods(), name);
}

bool is_mutating_method(const Value& self, std::string_view name) {
  const auto is_in = [name](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (self.as_mapping() != nullptr) return is_in(kMappingMutations);
  const Sequence* sequence = self.as_sequence();
  return sequence != nullptr && sequence->kind == Sequence::Kind::kList && is_in(kListMutations);
}

}  // namespace shunt::text::jinja
