// The architectures there are, each in a file of its own.
#pragma once

#include "model/definition.h"

namespace shunt {

Result<std::unique_ptr<ModelDefinition>> read_llama(const gguf::File& file);

}  // namespace shunt
