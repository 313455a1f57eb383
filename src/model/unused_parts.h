// Parts of a file that its architecture does not use: a model without them would be another model.
#pragma once

#include "model/definition.h"

namespace shunt {

/// Checks that a model uses all tensors of its file, and all keys of its architecture. Keys that
/// make no difference are allowed. Unsupported, naming the first part and the number of others.
/// Parts in ReadModel::ignored, by their exact names, are left aside; InvalidArgument for a name of
/// no such part.
Status check_unused_parts(const gguf::File& file, const ModelDefinition& model,
                          const ReadModel& how);

}  // namespace shunt
