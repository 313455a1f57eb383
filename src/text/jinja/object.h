// Values that only a template has: functions, macros, namespaces, loops. A run owns them (run.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

class Run;

/// The arguments of a call, evaluated.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  virtual std::string_view type_name() const = 0;
  /// Its text, as Python's repr() has it.
  virtual std::string shown() const { return "<" + std::string(type_name()) + ">"; }
  /// Nothing if there is no such attribute.
  virtual std::optional<Value> attribute(Run&, std::string_view) { return std::nullopt; }
  virtual bool is_callable() const { return false; }
  /// Errors of the body of a macro have their place already: see places_errors().
  virtual Result<Value> call(Run& run, Arguments&& arguments);
  virtual bool places_errors() const { return false; }
  /// Drops the values that it holds, so that nothing holds itself.
  virtual void release() {}
};

}  // namespace shunt::text::jinja
