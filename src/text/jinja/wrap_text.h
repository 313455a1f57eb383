// Lines of a width, as Python's module textwrap makes them.
#pragma once

#include <cstdint>
#include <vector>

#include "shunt/error.h"
#include "text/jinja/budget.h"
#include "text/jinja/traced_text.h"

namespace shunt::text::jinja {

struct WrapOptions {
  std::int64_t width = 79;  ///< characters of a line, at least 1
  bool breaks_long_words = true;
  bool breaks_on_hyphens = true;
};

/// Each of `lines` as lines of the width, all joined by `separator`. White space at the end of a
/// line that is made is left out.
Result<TracedText> wrap_lines(const std::vector<TracedText>& lines, const WrapOptions& options,
                              const TracedText& separator, Budget& budget);

}  // namespace shunt::text::jinja
