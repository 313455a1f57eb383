/// \file
/// Measured costs of devices for a model, so that times are predicted and nodes are placed by them.
///
/// \code
/// LoadOptions load;
/// SHUNT_ASSIGN(const ModelCosts costs, model_costs("model.gguf", *registry, load,
/// "/var/cache/app")); load.placement.costs = costs.costs; \endcode
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shunt/costs.h"
#include "shunt/engine.h"
#include "shunt/registry.h"

namespace shunt {

/// When times of steps are needed.
enum class PredictTimes : std::uint8_t {
  kPlacement,  ///< only where costs decide between several devices
  kAlways,     ///< also to compare predicted with measured times
};

struct ModelCosts {
  std::shared_ptr<const CostModel> costs;  ///< for PlacementPolicy::costs; null: none are needed
  std::vector<std::string> notes;          ///< costs that could not be measured, read or kept
};

/// Costs of the devices that load a model with these options, for the steps of
/// LoadOptions::session. They are measured now, or read from `cache_folder`, where an earlier
/// process kept them (empty: no folder). Nothing is measured if the options have costs, if rules or
/// a placement file decide alone (kPlacement), or if the option cpu.calibrate is off. Errors of the
/// model or of the choice of devices give no costs: the code that loads the model reports them.
/// Nothing else should run meanwhile.
Result<ModelCosts> model_costs(const std::string& path, const Registry& registry,
                               const LoadOptions& options, const std::string& cache_folder,
                               PredictTimes predict = PredictTimes::kPlacement);

}  // namespace shunt
