// Tensors of a folder that no weight is made of.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "convert/converted_folder.h"

namespace shunt {

/// Checks that all other tensors than `used` may be left aside, and notes which are. Unsupported,
/// naming the first one; InvalidArgument for an ignored name of no such tensor.
Status check_left_tensors(const ConvertedFolder& folder, const std::set<const StoredTensor*>& used,
                          std::int64_t layers, std::vector<std::string>& notes);

}  // namespace shunt
