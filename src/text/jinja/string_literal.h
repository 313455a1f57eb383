// String literals of templates.
#pragma once

#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt::text::jinja {

/// The text between the quotes with Python's escapes resolved. Invalid argument for an incomplete
/// one, a name of a character, or a surrogate.
Result<std::string> unescape(std::string_view literal);

}  // namespace shunt::text::jinja
