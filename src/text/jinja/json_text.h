// JSON to values, and values to JSON as Python's json.dumps() writes it.
#pragma once

#include <optional>
#include <string_view>

#include "shunt/error.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

/// Texts of the value are a person's. Objects keep the order of their keys. Invalid argument for a
/// mistake, or for nesting that is too deep.
Result<Value> from_json(std::string_view json, Budget& budget);

struct JsonFormat {
  bool ascii = false;
  bool sorts_keys = false;
  std::optional<TracedText> indention;  ///< nothing: all in one line
  TracedText item_separator{", ", false};
  TracedText key_separator{": ", false};
};
/// Texts in the value keep their origin; punctuation is not the template's.
Result<TracedText> to_json(const Value& value, const JsonFormat& format, Budget& budget);

}  // namespace shunt::text::jinja
