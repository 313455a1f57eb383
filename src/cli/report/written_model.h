// The model that a command has written, for its output.
#pragma once

#include <string>

#include "cli/report/json.h"
#include "shunt/quantize.h"

namespace shunt::cli {

/// "model.gguf", or "model-00001-of-00003.gguf (3 parts)".
std::string name_of_files(const QuantizeResult& result);
/// Its files, sizes and types.
Json written_model_json(const QuantizeResult& result);

}  // namespace shunt::cli
