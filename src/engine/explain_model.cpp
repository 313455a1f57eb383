#include "shunt/explain_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/guarded.h"
#include "engine/load/copied_weights.h"
#include "engine/load/fitted_step.h"
#include "engine/load/session_steps.h"
#include "engine/load/split_weights.h"
#include "engine/model_costs.h"
#include "schedule/memory/homes.h"
#include "schedule/place/pins.h"
#include "schedule/plan/segments.h"
#include "shunt/message.h"
#include "shunt/select_devices.h"

namespace shunt {
namespace {

/// The memory types of all leaves, with those of weights as they would be loaded.
std::vector<const BufferType*> leaf_memory(const ModelState& model, const FittedStep& fitted) {
  const Graph& graph = fitted.step->graph;
  std::vector<const BufferType*> types = memory_types(graph, fitted.placement);
  for (const WeightLeaf& weight : fitted.step->weights) {
    const int home = fitted.placement.decisions[weight.leaf].device;
    types[weight.leaf] = &model.memory_type(*weight.info, home);
  }
  return types;
}

/// A model without weights that has the options of loading.
Result<std::unique_ptr<ModelState>> open_model(const std::string& path, const Registry& registry,
                                               const LoadOptions& load) {
  SHUNT_ASSIGN(const auto devices,
               select_with_cpu(registry, load.devices, devices_of(load.placement.pins)));
  SHUNT_ASSIGN(auto model, open_without_weights(path, devices, load));
  model->placement = with_costs(load.placement);
  model->weight_mode = load.weights;
  return model;
}

}  // namespace

Result<PlacedStep> place_step(const std::string& path, const Registry& registry,
                              const PlaceStepOptions& options) {
  return guarded(
      [&]() -> Result<PlacedStep> {
        const LoadOptions& load = options.load;
        if (options.tokens.value_or(1) < 1) {
          return invalid("a step of {} tokens; it has at least one", *options.tokens);
        }
        PlacedStep placed;
        SHUNT_ASSIGN(const auto model, open_model(path, registry, load));
        FitRequest request;
        SHUNT_ASSIGN(const SessionOptions session, complete(load.session, model->info));
        request.steps = session_steps(session);
        SHUNT_TRY(split_weights(*model, load.split, load.devices));
        SHUNT_TRY(choose_weight_memory(*model, request.steps));
        if (!load.placement.costs && may_calibrate(registry)) {
          SHUNT_ASSIGN(ModelCosts costs,
                       calibrated_costs(*model, request.steps, registry, options.cache_folder));
          model->placement.costs = std::move(costs.costs);
          for (const std::string& note : costs.notes) {
            if (options.log) options.log(note);
          }
        }
        request.limits = device_limits(model->devices, load.memory_margin);
        request.host_cache = session.host_cache_bytes;
        auto fit = fit_model(*model, request);
        if (!fit) return std::move(fit.error()).with_context(path);

        StepShape shape = request.steps.front();
        if (options.tokens) shape.tokens = std::min(*options.tokens, shape.context);
        shape.outputs = std::min(shape.outputs, shape.tokens);
        SHUNT_ASSIGN(FittedStep fitted, place_fitted(*model, shape, request, *fit));
        placed.tokens = shape.tokens;
        placed.context = shape.context;
        placed.segments = cut_segments(fitted.step->graph, fitted.placement,
                                       fitted.step->graph.outputs(), leaf_memory(*model, fitted))
                              .segments;
        placed.graph = graph_of(std::move(fitted.step));
        placed.placement = std::move(fitted.placement);
        placed.notes = std::move(fit->notes);
        if (auto note = model->adapters.note()) placed.notes.push_back(std::move(*note));
        std::ranges::move(model->dropped_forms, std::back_inserter(placed.notes));
        placed.measured = !model->placement.costs->ops().empty();
        for (const Device* device : model->devices) {
          placed.times.push_back(fmt::format("{}: {}", device->name(),
                                             model->placement.costs->origin(device->info())));
        }
        return placed;
      },
      path);
}

}  // namespace shunt
