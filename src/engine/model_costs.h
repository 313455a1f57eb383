// Measuring costs for a model whose weights are not loaded.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/model_state.h"
#include "shunt/model_costs.h"

namespace shunt {

/// A model with the file's metadata, without weights. Of the options: `architectures`, `ignore`.
Result<std::unique_ptr<ModelState>> open_without_weights(const std::string& path,
                                                         std::span<Device* const> devices,
                                                         const LoadOptions& options);

/// Whether devices may be measured: the option cpu.calibrate.
bool may_calibrate(const Registry& registry);

/// Costs of the model's devices for these steps, measured now or kept by an earlier process in
/// `cache_folder`, with the same options of backends as `registry` has.
Result<ModelCosts> calibrated_costs(const ModelState& model, std::span<const StepShape> steps,
                                    const Registry& registry, const std::string& cache_folder);

}  // namespace shunt
