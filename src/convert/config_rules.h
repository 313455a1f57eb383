// From config.json to the keys of a GGUF file, by the tables of an architecture.
#pragma once

#include "convert/config.h"
#include "convert/file_keys.h"
#include "model/published.h"

namespace shunt {

/// The model_type of a folder that Shunt can convert. Unsupported, listing those known, for
/// another.
Result<const Published*> find_published(const Config& config);

/// Adds the keys of the architecture. BadFile, naming file and member, for a number that is
/// missing or out of range; Unsupported for one that the architecture can't have.
Status add_config_keys(const Config& config, const Published& model, FileKeys& keys);

}  // namespace shunt
