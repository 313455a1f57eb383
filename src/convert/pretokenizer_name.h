// The name of tokenizer.ggml.pre for what a tokenizer.json says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shunt/error.h"

namespace shunt {

/// By the steps of "pre_tokenizer", the normal form and "ignore_merges" of a byte-level BPE.
/// Unsupported, quoting the steps, for those of no known model.
Result<std::string> pretokenizer_name(const nlohmann::json& tokenizer, const std::string& path);
/// The name for an expression alone, as tekken.json has it.
Result<std::string> pretokenizer_name_of(const std::string& expression, const std::string& path);

}  // namespace shunt
