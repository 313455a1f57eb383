// Tokens as lines and as JSON: the id, the text and the type of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/report/json.h"
#include "shunt/error.h"
#include "shunt/text.h"

namespace shunt::cli {

/// A line for each token: its id and its text in quotes.
Result<std::string> token_lines(const text::Tokenizer& tokenizer,
                                std::span<const std::int32_t> ids);
/// An array of objects with id, piece and type.
Result<Json> token_json(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids);

}  // namespace shunt::cli
