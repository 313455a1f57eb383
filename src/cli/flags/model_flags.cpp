#include "cli/flags/model_flags.h"

#include <chrono>
#include <utility>

#include "cli/flags/session_flags.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "shunt/model_costs.h"
#include "shunt/peak_memory.h"

namespace shunt::cli {

void ModelFlags::declare(Arguments& arguments) {
  arguments.group("Model");
  model_.declare(arguments, "Load this GGUF model");
  ignore_.declare(arguments);
  lora_.declare(arguments);
  declare_session(arguments, session_);
  arguments.group("Devices and placement");
  runtime_.declare(arguments);
  arguments.value(devices_names_, "LIST",
                  "Use only these devices, such as cuda0,cpu0 (default: all whose priority is not "
                  "negative)",
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
  session_.adapters = lora_.uses();
  return ok();
}

Result<OpenModel> ModelFlags::open(PredictTimes predict) const {
  OpenModel open;
  SHUNT_ASSIGN(open.registry, open_registry(options_));
  LoadOptions load;
  load.devices = devices_;
  load.session = session_;
  load.embeddings = embeddings_;
  load.ignore = ignore_.names();
  load.adapters = lora_.paths();
  load.on_device_error = device_error_.policy();
  SHUNT_TRY(pins_.apply(load));
  load.placement.fallback = fallback_.policy();
  const auto begin = std::chrono::steady_clock::now();
  SHUNT_ASSIGN(ModelCosts costs,
               model_costs(path(), *open.registry, load, options_.cache_folder, predict));
  if (costs.costs) {
    for (const std::string& note : costs.notes) print_message(note);
    load.placement.costs = std::move(costs.costs);
    open.calibration_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    reset_peak_memory();
  }
  Progress progress("loading " + path(), kLargeModel);
  load.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  SHUNT_ASSIGN(open.model, Model::load(path(), *open.registry, load));
  ignore_.tell();
  return open;
}

Status ModelFlags::expect_logits(const OpenModel& open) const {
  Status expected = shunt::expect_logits(open.model->info());
  if (!expected) return std::move(expected.error()).with_context(path());
  return ok();
}

}  // namespace shunt::cli
