// Functions that templates can use: filters, tests, methods and global functions, in tables.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "shunt/error.h"
#include "text/jinja/object.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

inline constexpr std::size_t kMostParameters = 6;

/// The arguments of a builtin, and the run that calls it.
struct Inputs {
  Run& run;
  const Value& self;  ///< the value before the "|", "is" or "."; undefined for a global function
  const Arguments& all;
  /// By the names of Builtin::parameters; null where absent.
  std::array<const Value*, kMostParameters> given;

  const Value* operator[](std::size_t parameter) const { return given[parameter]; }
  /// The argument, or the value that stands for it.
  Result<std::int64_t> integer(std::size_t parameter, std::int64_t otherwise) const;
  bool flag(std::size_t parameter, bool otherwise) const;
  /// Invalid argument if it is not a str. Null if absent or none.
  Result<const TracedText*> text(std::size_t parameter) const;
};

struct Builtin {
  std::string_view name;
  /// Names by position, required ones with a "!"; "*": it takes any and looks at Inputs::all.
  std::string_view parameters;
  Result<Value> (*function)(const Inputs& inputs);
};

/// Calls it after matching arguments to parameters.
Result<Value> call_builtin(Run& run, const Builtin& builtin, const Value& self,
                           const Arguments& arguments);

/// Null if there is none of this name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
/// A method of a type of Python's; null for objects.
const Builtin* find_method(const Value& self, std::string_view name);
/// Whether a method of this name would change the value; templates may not.
bool is_mutating_method(const Value& self, std::string_view name);

// The tables, a file or two each.
std::span<const Builtin> text_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> markup_filters();
std::span<const Builtin> layout_filters();
std::span<const Builtin> tests();
std::span<const Builtin> globals();
std::span<const Builtin> text_methods();
std::span<const Builtin> text_search_methods();
/// Of lists, tuples and ranges.
std::span<const Builtin> sequence_methods();
/// Of lists only.
std::span<const Builtin> list_methods();
std::span<const Builtin> mapping_methods();

}  // namespace shunt::text::jinja
