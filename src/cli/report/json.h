// JSON as all subcommands print it: keys in the order they were put in.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace shunt::cli {

using Json = nlohmann::ordered_json;

/// Indented, with a line end behind it. Always valid UTF-8: invalid bytes become U+FFFD.
std::string to_text(const Json& json);
/// The same in one line.
std::string to_text_line(const Json& json);

}  // namespace shunt::cli
