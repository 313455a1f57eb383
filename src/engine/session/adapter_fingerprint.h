// A number that tells apart what a model computes with adapters.
#pragma once

#include <cstdint>
#include <span>

#include "model/adapters/adapter_file.h"
#include "shunt/adapters.h"

namespace shunt {

/// `model`: its model_fingerprint(), which is the result where no adapter has an effect. `files`:
/// the adapters beside it.
Result<std::uint64_t> adapter_fingerprint(std::uint64_t model, std::span<const AdapterFile> files,
                                          std::span<const AdapterUse> uses);

}  // namespace shunt
