// The weights of a model, and the published tensors that they are made of.
#pragma once

#include <string>
#include <vector>

#include "convert/converted_folder.h"
#include "convert/file_keys.h"
#include "convert/weight_source.h"

namespace shunt {

/// All weights by the description of the file with these keys. BadFile for a tensor that is missing
/// or of another shape than config.json says; Unsupported, naming it, for one that is not used.
Result<std::vector<WeightSource>> list_weights(const ConvertedFolder& folder, FileKeys& keys);

}  // namespace shunt
