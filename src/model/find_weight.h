// A weight of a file, by its name.
#pragma once

#include <span>
#include <string>

#include "model/definition.h"

namespace shunt {

/// The tensor called `name` in a file, checked to have `sizes`; null if it is optional and missing.
Result<const gguf::TensorInfo*> find_weight(const gguf::File& file, const std::string& name,
                                            std::span<const std::int64_t> sizes, bool optional);

}  // namespace shunt
