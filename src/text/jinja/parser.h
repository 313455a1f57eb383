// From the text of a template to its syntax tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/source.h"
#include "text/jinja/syntax.h"

namespace shunt::text::jinja {

struct SyntaxTree {
  std::vector<std::string> names;  ///< of variables; a NameId is an index
  Body body;
};

/// Invalid argument with line and column for a mistake, or for nesting that is too deep.
Result<SyntaxTree> parse(const Source& source);

}  // namespace shunt::text::jinja
