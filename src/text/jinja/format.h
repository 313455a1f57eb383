// Python's two ways of formatting: "%s" % values and "{}".format(values).
#pragma once

#include <string>
#include <string_view>

#include "shunt/error.h"
#include "text/jinja/object.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

/// A field of a format: width, precision and so on.
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  ///< '<', '>', '^', '='; 0 is that of the type
  char sign = '-';
  char given_sign = '\0';  ///< the same if the spec has it
  bool alternate = false;
  char group = '\0';
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = '\0';
  bool is_given = false;  ///< not empty
};

/// format % values: `values` is a tuple, a dict or a single value.
Result<Value> format_percent(const Text& format, const Value& values, Budget& budget);
/// format.format(...)
Result<Value> format_braces(Run& run, const TracedText& format, const Arguments& arguments);

/// Appends a number or text as the spec says.
Status append_formatted(TracedText& out, const Value& value, const FormatSpec& spec,
                        Budget& budget);
/// Characters beyond ASCII as \\xNN, \\uNNNN or \\UNNNNNNNN.
TracedText escape_beyond_ascii(const TracedText& text);
/// Digits of an integer in base 2, 8, 10 or 16, with its sign.
std::string integer_digits(std::int64_t number, int base);

}  // namespace shunt::text::jinja
