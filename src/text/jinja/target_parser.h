// The grammar of the left side of assignments and loops.
#pragma once

#include <vector>

#include "shunt/error.h"
#include "text/jinja/syntax.h"
#include "text/jinja/token_stream.h"

namespace shunt::text::jinja {

/// A name or names in round brackets; with attributes also an attribute of a namespace.
Result<Target> parse_one_target(TokenStream& tokens, bool with_attributes);
/// One of these, or several with commas between them.
Result<Target> parse_target(TokenStream& tokens, bool with_attributes);

/// Adds the names that a target assigns.
void add_names(const Target& target, std::vector<NameId>& names);

}  // namespace shunt::text::jinja
