#include "cli/placed_step.h"

#include <algorithm>
#include <iterator>

#include "base/fail.h"
#include "base/guarded.h"
#include "cli/session_flags.h"
#include "cli/step_costs.h"
#include "device/selection.h"
#include "engine/copied_weights.h"
#include "engine/fitted_step.h"
#include "engine/session_steps.h"
#include "engine/split_weights.h"
#include "schedule/memory/homes.h"
#include "schedule/place/pins.h"
#include "schedule/plan/segments.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMaxStepTokens = std::int64_t{1} << 30;

}  // namespace

void StepFlags::declare(Arguments& arguments) {
  arguments.group("Model");
  model_.declare(arguments, "Read the metadata of this GGUF model; its weights are not read");
  arguments.number<std::int64_t>(
      "-n,--tokens",
      "Set the number of tokens of the step, at most the context (default: that of --batch)",
      tokens_, 1, kMaxStepTokens);
  arguments.number<std::int64_t>("-c,--ctx",
                                 "Set the context length; 0: the model's own, at most 4096",
                                 session_.context, 0, SessionOptions::kMaxContext);
  declare_session(arguments, session_);
  arguments.group("Devices and placement");
  arguments.value("-d,--devices", "LIST",
                  "Use only these devices, such as cuda0,cpu0 (default all)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(devices_, split_list(text));
                    return ok();
                  });
  pins_.declare(arguments);
  runtime_.declare(arguments);
  arguments.group();
}

Status StepFlags::check() {
  SHUNT_TRY(model_.check());
  SHUNT_TRY(pins_.check());
  SHUNT_ASSIGN(options_, runtime_.options());
  return ok();
}

Result<PlacedStep> StepFlags::place() const {
  return guarded(
      [&]() -> Result<PlacedStep> {
        PlacedStep placed;
        placed.path = model_.path();
        SHUNT_ASSIGN(placed.registry, open_registry(options_));
        LoadOptions load;
        SHUNT_TRY(pins_.apply(load));
        SHUNT_ASSIGN(auto devices,
                     select_with_cpu(*placed.registry, devices_, devices_of(load.pins)));
        SHUNT_ASSIGN(const auto model, open_without_weights(model_.path(), std::move(devices)));
        model->placement = std::move(load.placement);
        model->pins = std::move(load.pins);
        model->transcode = load.transcode;
        model->weight_mode = load.weights;
        if (load.costs) model->costs = load.costs;
        model->rules_only = load.rules_only;
        model->stream_rows = load.stream_rows;
        FitRequest request;
        SHUNT_ASSIGN(const SessionOptions session, complete(session_, model->info));
        request.steps = session_steps(session);
        SHUNT_TRY(split_weights(*model, load.split, devices_));
        SHUNT_TRY(choose_weight_memory(*model, request.steps));
        if (!load.costs && calibrates(*placed.registry)) {
          SHUNT_ASSIGN(model->costs,
                       calibrated_costs(*model, request.steps,
                                        {options_.cache_folder, settings_of(*placed.registry)}));
        }
        request.limits = device_limits(model->devices, load.memory_margin);
        auto fit = fit_model(*model, request);
        if (!fit) return std::move(fit.error()).with_context(model_.path());

        placed.shape = request.steps.front();
        if (tokens_) placed.shape.tokens = std::min(*tokens_, placed.shape.context);
        SHUNT_ASSIGN(FittedStep fitted, place_fitted(*model, placed.shape, request, *fit));
        placed.step = std::move(fitted.step);
        placed.placement = std::move(fitted.placement);
        const Graph& graph = placed.step->graph;
        std::vector<const BufferType*> types = memory_types(graph, placed.placement);
        for (const WeightLeaf& weight : placed.step->weights) {
          const int home = placed.placement.decisions[weight.leaf].device;
          types[weight.leaf] = &model->memory_type(*weight.info, home);
        }
        placed.segments = cut_segments(graph, placed.placement, graph.outputs(), types).segments;
        placed.notes = std::move(fit->notes);
        std::ranges::move(model->dropped_forms, std::back_inserter(placed.notes));
        placed.measured = !model->costs->ops().empty();
        for (const Device* device : model->devices) {
          placed.times.push_back(
              fmt::format("{}: {}", device->name(), model->costs->origin(device->info())));
        }
        return placed;
      },
      model_.path());
}

}  // namespace shunt::cli
