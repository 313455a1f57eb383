// Values over several lines, as Python's module pprint shows them.
#pragma once

#include "shunt/error.h"
#include "text/jinja/budget.h"
#include "text/jinja/value.h"

namespace shunt::text::jinja {

/// Python's pformat(): lines of 80 characters where the value allows it, keys of dicts sorted.
Result<TracedText> pretty_print(const Value& value, Budget& budget);

}  // namespace shunt::text::jinja
