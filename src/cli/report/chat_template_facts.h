// The chat templates of a GGUF file: their names, their sizes, and whether they can be used.
#pragma once

#include <string>

#include "cli/report/json.h"
#include "shunt/gguf.h"

namespace shunt::cli {

/// A line for each template, behind a heading; empty if the file has none.
std::string chat_templates_text(const gguf::File& file);
/// An array with an object for each.
Json chat_templates_json(const gguf::File& file);

}  // namespace shunt::cli
