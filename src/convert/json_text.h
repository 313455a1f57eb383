// JSON of folders that are converted. It comes from strangers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt {

/// The deepest nesting of a JSON text that is read.
inline constexpr int kMostJsonDepth = 64;

/// BadFile, naming `name` and the place, for a text that is no JSON or is nested too deep.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& name);

/// The JSON in a file of at most `most_bytes`; BadFile if it is longer.
Result<nlohmann::json> read_json_file(const std::string& path, std::uint64_t most_bytes);

/// "an object", "the number 5", ... for messages.
std::string describe_json(const nlohmann::json& value);

}  // namespace shunt
