// A GGUF file's content as text and as JSON. Long arrays and strings are cut short.
#pragma once

#include <string>

#include "shunt/gguf.h"

namespace shunt::cli {

std::string inspection_text(const gguf::File& file, bool with_tensors);
std::string inspection_json(const gguf::File& file);

}  // namespace shunt::cli
