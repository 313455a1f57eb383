// Which tokens end a generation: those that the file names, and tokens that are known to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shunt/text.h"

namespace shunt::text {

/// Whether a user-defined token's text is that of a mark between turns, such as <|end|> of early
/// Phi 3 and <|tool_response> of Gemma 4. Files have some as user-defined tokens, so that they are
/// shown. A user-defined </s> is a tag of HTML, as in Gemma.
bool is_turn_marker(std::string_view text);

/// Their ids, ascending.
std::vector<std::int32_t> find_end_tokens(const Vocabulary& vocabulary);

}  // namespace shunt::text
