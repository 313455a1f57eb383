// Python's operators.
#pragma once

#include <string_view>

#include "shunt/error.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

using BinaryOperator = Result<Value> (*)(const Value&, const Value&, Budget&);

/// Null if the text is no operator of that kind.
BinaryOperator find_arithmetic(std::string_view symbol);
BinaryOperator find_comparison(std::string_view symbol);

Result<Value> add(const Value& a, const Value& b, Budget& budget);
Result<Value> contains(const Value& item, const Value& container, Budget& budget);
Result<Value> contains_not(const Value& item, const Value& container, Budget& budget);

/// Markup's escapes of & < > " and '.
TracedText escape_html(const TracedText& text);

/// An error for an undefined operand, else nothing happens.
Status require_defined(const Value& value);

}  // namespace shunt::text::jinja
