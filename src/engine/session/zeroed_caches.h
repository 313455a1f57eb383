// Caches for running a model's steps without a session.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/model_state.h"

namespace shunt {

/// A zeroed buffer for each of a step's caches, on the devices that loading chose. Zeros, because
/// unwritten content must not affect a result. The error of the device, naming it, if it has no
/// room. Invalid if the step has more or fewer caches than the model was loaded for.
Result<std::vector<std::unique_ptr<Buffer>>> zeroed_caches(const ModelState& model,
                                                           const Graph& graph,
                                                           std::span<const NodeId> caches);

}  // namespace shunt
