// Loading a model: decides which device each weight goes to, and brings it there.
#pragma once

#include <memory>
#include <optional>

#include "engine/model_state.h"

namespace shunt {

/// Loads the weights that the model lacks: the CPU uses the mapped file, or copies as
/// WeightRecord::copy says. Weights that are loaded already stay. After a failed attempt the next
/// one has a change of plan. Then nothing is transcoded, the CPU copies no weights, or a device
/// that failed is left out, if the model's policy allows it; weights on the other devices stay.
/// Error::device() is the device that failed, if one did. Of the options, the session, the margin,
/// progress and the fallback policy are used.
Result<std::shared_ptr<const ModelState>> load_state(ModelState model, const LoadOptions& options);

/// The device of the model that the error names as failed. None if the policy does not allow
/// leaving it out, or if it is the CPU.
std::optional<DeviceIndex> device_to_leave_out(const ModelState& model, const Error& error);

/// The same model without a device, and without the weights that it held.
ModelState without(const ModelState& model, DeviceIndex device, const Error& error);

/// The memory of the weights that are loaded.
Ledger weights_ledger(const ModelState& model);

}  // namespace shunt
