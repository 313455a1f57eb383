// The tokenizer of a GGUF file in a few lines: its kind, its size, and what ends a generation.
#pragma once

#include <string>

#include "cli/report/json.h"
#include "shunt/gguf.h"

namespace shunt::cli {

/// Lines for a terminal; empty if the file has no tokenizer. One that this build can't use is named
/// with the reason.
std::string tokenizer_text(const gguf::File& file);
/// The same; null without a tokenizer.
Json tokenizer_json(const gguf::File& file);

}  // namespace shunt::cli
