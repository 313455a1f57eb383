#include "engine/model_costs.h"

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "engine/load/session_steps.h"
#include "engine/load/split_weights.h"
#include "schedule/place/pins.h"
#include "shunt/message.h"
#include "shunt/select_devices.h"

namespace shunt {
namespace {

/// The options of backends that differ from their defaults: "cpu.level=scalar".
std::string settings_of(const Registry& registry) {
  std::string text;
  for (const BackendStatus& backend : registry.backends()) {
    for (const OptionStatus& option : backend.options) {
      if (option.value == option.default_value) continue;
      text += fmt::format("{}{}.{}={}", text.empty() ? "" : ", ", backend.name, option.name,
                          option.value);
    }
  }
  return text;
}

/// Rules alone, or a placement file, leave nothing to choose by costs.
bool needs_costs(const Registry& registry, const LoadOptions& options, PredictTimes predict) {
  if (options.placement.costs || !may_calibrate(registry)) return false;
  return predict == PredictTimes::kAlways ||
         (!options.placement.rules_only && !options.placement.file);
}

}  // namespace

Result<std::unique_ptr<ModelState>> open_without_weights(const std::string& path,
                                                         std::span<Device* const> devices,
                                                         const LoadOptions& options) {
  SHUNT_ASSIGN(gguf::File file, gguf::File::open(path));
  SHUNT_ASSIGN(auto definition, read_model(file, {.more = options.architectures,
                                                  .ignored = options.ignore,
                                                  .can_ignore = true,
                                                  .embeddings = options.embeddings}));
  SHUNT_ASSIGN(LoadedAdapters adapters, load_adapters(options.adapters, file, *definition));
  auto model = std::make_unique<ModelState>(file);
  model->definition = std::move(definition);
  model->adapters = std::move(adapters);
  model->info.context = model->definition->shape().context;
  model->info.is_encoder = model->definition->shape().is_encoder;
  model->info.state_bytes = model->definition->shape().state_bytes;
  model->info.windows = model->definition->shape().windows;
  model->devices = DeviceSet(devices);
  return model;
}

bool may_calibrate(const Registry& registry) {
  return std::ranges::any_of(registry.backends(), [](const BackendStatus& backend) {
    return backend.name == "cpu" &&
           std::ranges::any_of(backend.options, [](const OptionStatus& option) {
             return option.name == "calibrate" && option.value == "on";
           });
  });
}

Result<ModelCosts> calibrated_costs(const ModelState& model, std::span<const StepShape> steps,
                                    const Registry& registry, const std::string& cache_folder) {
  std::vector<std::shared_ptr<const StepGraph>> built;
  for (const StepShape& shape : steps) {
    SHUNT_ASSIGN(auto step, model.build(shape));
    built.push_back(std::move(step));
  }
  std::vector<const Graph*> graphs;
  graphs.reserve(built.size());
  for (const auto& step : built) graphs.push_back(&step->graph);
  Measured measured = calibrate(model.devices, graphs, {cache_folder, settings_of(registry)});
  return ModelCosts{std::make_shared<const CostModel>(std::move(measured.costs)),
                    std::move(measured.notes)};
}

Result<ModelCosts> model_costs(const std::string& path, const Registry& registry,
                               const LoadOptions& options, const std::string& cache_folder,
                               PredictTimes predict) {
  if (!needs_costs(registry, options, predict)) return ModelCosts();
  return guarded(
      [&]() -> Result<ModelCosts> {
        const auto devices =
            select_with_cpu(registry, options.devices, devices_of(options.placement.pins));
        if (!devices || (devices->size() < 2 && predict == PredictTimes::kPlacement)) {
          return ModelCosts();
        }
        const auto model = open_without_weights(path, *devices, options);
        if (!model) return ModelCosts();
        const auto session = complete(options.session, (*model)->info);
        if (!session || !split_weights(**model, options.split)) return ModelCosts();
        return calibrated_costs(**model, session_steps(*session), registry, cache_folder);
      },
      path);
}

}  // namespace shunt
