// Costs for predictions about a model's steps where no costs file is given.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/model_state.h"
#include "shunt/costs.h"
#include "shunt/registry.h"

namespace shunt::cli {

/// A model with the file's metadata, without weights.
Result<std::unique_ptr<ModelState>> open_without_weights(const std::string& path,
                                                         std::span<Device* const> devices);

/// Whether devices may be measured: the option cpu.calibrate.
bool calibrates(const Registry& registry);

/// The options of backends that differ from their defaults: "cpu.level=scalar".
std::string settings_of(const Registry& registry);

/// Costs of the model's devices for these steps, measured now or kept by an earlier process,
/// according to the options. Reports costs that could not be measured, read or kept.
Result<std::shared_ptr<const CostModel>> calibrated_costs(const ModelState& model,
                                                          std::span<const StepShape> steps,
                                                          const CalibrateOptions& options);

}  // namespace shunt::cli
