#include "cli/model_flags.h"

#include "base/clock.h"
#include "base/fail.h"
#include "cli/progress.h"
#include "cli/session_flags.h"
#include "cli/sizes.h"
#include "cli/step_costs.h"
#include "device/selection.h"
#include "engine/session_steps.h"
#include "engine/split_weights.h"
#include "schedule/place/pins.h"

namespace shunt::cli {

void ModelFlags::declare(Arguments& arguments) {
  arguments.group("Model");
  model_.declare(arguments, "Load this GGUF model");
  declare_session(arguments, session_);
  arguments.group("Devices and placement");
  runtime_.declare(arguments);
  arguments.value(devices_names_, "LIST",
                  "Use only these devices, such as cuda0,cpu0 (default all)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(devices_, split_list(text));
                    return ok();
                  });
  pins_.declare(arguments);
  fallback_.declare(arguments);
  device_error_.declare(arguments);
  arguments.group();
}

Status ModelFlags::check() {
  SHUNT_TRY(model_.check());
  SHUNT_TRY(pins_.check());
  SHUNT_ASSIGN(options_, runtime_.options());
  return ok();
}

/// Rules alone, or a placement file, leave nothing to choose by costs.
bool ModelFlags::needs_costs(const Registry& registry, Predict predict,
                             const LoadOptions& load) const {
  if (load.costs || !calibrates(registry)) return false;
  return predict == Predict::kAlways || (!load.rules_only && !load.placement);
}

/// Reports no errors of the model or of the choice of devices: the code that loads the model does
/// so.
Status ModelFlags::add_costs(const Registry& registry, Predict predict, LoadOptions& load) const {
  const auto devices = select_with_cpu(registry, devices_, devices_of(load.pins));
  if (!devices || (devices->size() < 2 && predict == Predict::kPlacement)) return ok();
  const auto model = open_without_weights(path(), *devices);
  if (!model) return ok();
  const auto session = complete(session_, (*model)->info);
  if (!session || !split_weights(**model, load.split)) return ok();
  SHUNT_ASSIGN(load.costs, calibrated_costs(**model, session_steps(*session),
                                            {options_.cache_folder, settings_of(registry)}));
  return ok();
}

Result<OpenModel> ModelFlags::open(Predict predict) const {
  OpenModel open;
  SHUNT_ASSIGN(open.registry, open_registry(options_));
  LoadOptions load;
  load.devices = devices_;
  load.session = session_;
  load.fallback = fallback_.policy();
  load.on_device_error = device_error_.policy();
  SHUNT_TRY(pins_.apply(load));
  if (needs_costs(*open.registry, predict, load)) {
    const double begin = steady_seconds();
    SHUNT_TRY(add_costs(*open.registry, predict, load));
    open.calibration_seconds = steady_seconds() - begin;
    reset_peak_memory();
  }
  Progress progress("loading " + path(), kLargeModel);
  load.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  SHUNT_ASSIGN(open.model, Model::load(path(), *open.registry, load));
  return open;
}

}  // namespace shunt::cli
