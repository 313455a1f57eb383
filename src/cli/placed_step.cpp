#include "cli/placed_step.h"

#include <algorithm>

#include "base/fail.h"
#include "base/guarded.h"
#include "engine/fit.h"
#include "engine/promised_memory.h"
#include "engine/vocabulary_from_gguf.h"
#include "schedule/segments.h"

namespace shunt::cli {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;

/// A model of which only the file's metadata is there.
Result<std::unique_ptr<ModelState>> open_without_weights(const std::string& path,
                                                         std::vector<Device*> devices) {
  SHUNT_ASSIGN(gguf::File file, gguf::File::open(path));
  SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
  SHUNT_ASSIGN(text::Tokenizer tokenizer, text::Tokenizer::create(std::move(vocabulary)));
  auto model = std::make_unique<ModelState>(file, std::move(tokenizer));
  SHUNT_ASSIGN(model->definition, read_model(file));
  model->info.context = model->definition->shape().context;
  model->devices = std::move(devices);
  return model;
}

/// Weights and caches where they fit, as promises.
std::vector<LeafMemory> promise(const StepGraph& step, const Fit& fit,
                                const PromisedMemory& promised) {
  std::vector<LeafMemory> memory;
  for (const WeightLeaf& weight : step.weights) {
    memory.push_back({weight.leaf, promised.on(fit.homes.weights.at(weight.info))});
  }
  for (std::size_t i = 0; i < step.caches.size(); ++i) {
    memory.push_back({step.caches[i], promised.on(fit.homes.caches[i])});
  }
  return memory;
}

/// Weights that come in another type than the file's, as leaves of this step.
void list_conversions(const StepGraph& step, const Fit& fit, Placement& placement) {
  for (const WeightLeaf& weight : step.weights) {
    const auto found = fit.transcoded.find(weight.info);
    if (found == fit.transcoded.end()) continue;
    const TranscodedWeight& other = found->second;
    placement.conversions.push_back(
        {weight.leaf, other.from, other.to, placement.decisions[weight.leaf].device, other.reason});
  }
}

/// Why a device does not compute a node may have been decided before weights had memory, too.
void explain_refusals(const Placement& by_rules, Placement& placement) {
  for (NodeId id = 0; id < placement.decisions.size(); ++id) {
    for (PassedOver& passed : placement.decisions[id].passed_over) {
      for (const PassedOver& first : by_rules.decisions[id].passed_over) {
        const bool same = by_rules.devices[static_cast<std::size_t>(first.device)] ==
                          placement.devices[static_cast<std::size_t>(passed.device)];
        if (!same || first.refusal == Refusal::kCost) continue;
        passed.refusal = first.refusal;
        passed.reason = first.reason;
        passed.remedy = first.remedy;
      }
    }
  }
}

/// Why a leaf is where it is was decided before it had memory: by the rules, or for want of room.
void explain_leaves(const Placement& by_rules, std::span<const LeafMemory> leaves,
                    Placement& placement) {
  for (const LeafMemory& leaf : leaves) {
    const Decision& wanted = by_rules.decisions[leaf.leaf];
    Decision& decision = placement.decisions[leaf.leaf];
    Device* there = placement.devices[static_cast<std::size_t>(decision.device)];
    Device* better = by_rules.devices[static_cast<std::size_t>(wanted.device)];
    decision.rule = wanted.rule;
    decision.reason = there == better
                          ? wanted.reason
                          : fmt::format("{} has no room left for it", better->info().name);
    for (const Conversion& conversion : placement.conversions) {
      if (conversion.leaf == leaf.leaf && there != better) decision.reason += to_text(conversion);
    }
  }
}

}  // namespace

void StepFlags::declare(Arguments& arguments) {
  arguments.file("-m,--model", "the model, a GGUF file; its weights are not read", model_);
  arguments.value("-d,--devices", "LIST", "devices to use, such as cuda0,cpu0 (default all)",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(devices_, split_list(text));
                    return ok();
                  });
  arguments.number<std::int64_t>("-n,--tokens", "tokens of the step, at most the context", tokens_,
                                 1, kMostTokens);
  arguments.number<std::int64_t>("-c,--ctx", "tokens of context; 0: the model's own, at most 4096",
                                 context_, 0, kMostTokens);
  pins_.declare(arguments);
  runtime_.declare(arguments);
}

Status StepFlags::check() {
  if (!model_) return invalid("no model is given; use --model FILE");
  SHUNT_TRY(pins_.check());
  SHUNT_ASSIGN(options_, runtime_.options());
  return ok();
}

Result<PlacedStep> StepFlags::place() const {
  return guarded(
      [&]() -> Result<PlacedStep> {
        PlacedStep placed;
        placed.path = *model_;
        SHUNT_ASSIGN(placed.registry, Registry::create(options_));
        SHUNT_ASSIGN(auto devices, placed.registry->select(devices_));
        SHUNT_ASSIGN(const auto model, open_without_weights(*model_, std::move(devices)));
        LoadOptions load;
        SHUNT_TRY(pins_.apply(load));
        model->placement = std::move(load.placement);
        model->pins = std::move(load.pins);
        model->transcode = load.transcode;
        if (load.costs) model->costs = std::move(load.costs);
        model->rules_only = load.rules_only;
        model->stream_rows = load.stream_rows;
        SessionOptions session;
        session.context = context_;
        FitRequest request;
        request.steps = session_steps(model->info, session);
        request.limits = device_limits(model->devices, load.memory_margin);
        auto fit = fit_model(*model, request);
        if (!fit) return std::move(fit.error()).with_context(*model_);

        placed.shape = request.steps.front();
        placed.shape.tokens = std::min(tokens_, placed.shape.context);
        SHUNT_ASSIGN(const StepGraph as_in_file, model->definition->build(placed.shape));
        SHUNT_ASSIGN(const Placement by_rules,
                     model->place_step(as_in_file.graph, {}, model->devices));
        SHUNT_ASSIGN(placed.step, model->build(placed.shape, fit->transcoded));
        const Graph& graph = placed.step.graph;
        const PromisedMemory promised(model->devices);
        const auto memory = promise(placed.step, *fit, promised);
        SHUNT_ASSIGN(placed.placement,
                     model->place_step(graph, memory, fit->devices, fit->stream_bytes));
        list_conversions(placed.step, *fit, placed.placement);
        explain_leaves(by_rules, memory, placed.placement);
        explain_refusals(by_rules, placed.placement);
        placed.segments = cut_segments(graph, placed.placement, graph.outputs(),
                                       planned_leaf_types(graph, placed.placement))
                              .segments;
        placed.notes = std::move(fit->notes);
        placed.measured = !model->costs->ops().empty();
        return placed;
      },
      *model_);
}

}  // namespace shunt::cli
