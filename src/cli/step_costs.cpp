#include "cli/step_costs.h"

#include <algorithm>

#include "base/fail.h"
#include "cli/output.h"

namespace shunt::cli {

Result<std::unique_ptr<ModelState>> open_without_weights(const std::string& path,
                                                         std::span<Device* const> devices) {
  SHUNT_ASSIGN(gguf::File file, gguf::File::open(path));
  auto model = std::make_unique<ModelState>(file);
  SHUNT_ASSIGN(model->definition, read_model(file));
  model->info.context = model->definition->shape().context;
  model->devices = DeviceSet(devices);
  return model;
}

bool calibrates(const Registry& registry) {
  return std::ranges::any_of(registry.backends(), [](const BackendStatus& backend) {
    return backend.name == "cpu" &&
           std::ranges::any_of(backend.options, [](const OptionStatus& option) {
             return option.name == "calibrate" && option.value == "on";
           });
  });
}

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

Result<std::shared_ptr<const CostModel>> calibrated_costs(const ModelState& model,
                                                          std::span<const StepShape> steps,
                                                          const CalibrateOptions& options) {
  std::vector<std::shared_ptr<const StepGraph>> built;
  for (const StepShape& shape : steps) {
    SHUNT_ASSIGN(auto step, model.build(shape));
    built.push_back(std::move(step));
  }
  std::vector<const Graph*> graphs;
  for (const auto& step : built) graphs.push_back(&step->graph);
  Measured measured = calibrate(model.devices, graphs, options);
  for (const std::string& note : measured.notes) say(note);
  return std::make_shared<const CostModel>(std::move(measured.costs));
}

}  // namespace shunt::cli
