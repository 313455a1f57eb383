#include "train/loss_plan.h"

#include <algorithm>
#include <cstring>

#include "shunt/gradients.h"
#include "shunt/message.h"
#include "shunt/ops.h"

namespace shunt {

namespace {

template <class T>
Result<std::span<T>> input(Plan& plan, Value leaf) {
  SHUNT_ASSIGN(const std::span<std::byte> bytes, plan.input(leaf));
  return std::span(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T));
}

/// Adds each gradient to memory that lasts.
Result<std::vector<LeafMemory>> add_gradients(GraphBuilder& g, const LossGraph& graph,
                                              const Parameters& parameters) {
  std::vector<Value> values;
  std::vector<const Parameter*> trained;
  for (const WeightLeaf& leaf : graph.weights) {
    const Parameter* const parameter = parameters.find(leaf.info);
    if (parameter == nullptr) continue;
    values.push_back({leaf.leaf});
    trained.push_back(parameter);
  }
  SHUNT_ASSIGN(const std::vector<Value> by, gradients(g, graph.loss, values));
  std::vector<LeafMemory> memory;
  for (std::size_t i = 0; i < by.size(); ++i) {
    SHUNT_ASSIGN(const Value sum,
                 g.cache("gradient by " + trained[i]->info->name, trained[i]->tensor));
    SHUNT_TRY(acc(g, sum, by[i]));
    memory.push_back({sum.id, parameters.address(*trained[i], Part::kGradient)});
  }
  return memory;
}

}  // namespace

Result<LossPlan> LossPlan::create(const ModelDefinition& model, const LossShape& shape,
                                  const Parameters& parameters, bool gradients, Device& cpu) {
  LossPlan made;
  GraphBuilder g;
  SHUNT_ASSIGN(made.graph_, model.build_loss(g, shape));
  std::vector<LeafMemory> memory = parameters.leaf_memory(made.graph_.weights);
  if (gradients) {
    SHUNT_ASSIGN(const auto sums, add_gradients(g, made.graph_, parameters));
    memory.insert(memory.end(), sums.begin(), sums.end());
  }
  SHUNT_TRY(g.output(made.graph_.loss, "loss"));
  SHUNT_ASSIGN(Graph graph, std::move(g).build());
  Device* const devices[] = {&cpu};
  SHUNT_ASSIGN(made.plan_, make_plan(std::make_shared<const Graph>(std::move(graph)), devices,
                                     {.memory = memory}, {.steps_in_flight = 1}));
  made.vocabulary_ = model.shape().vocabulary;
  made.labelled_.assign(static_cast<std::size_t>(shape.context * shape.rows), -1);
  return made;
}

Status LossPlan::fill(const TrainingRows& rows, float label) {
  SHUNT_ASSIGN(const auto tokens, input<std::int32_t>(*plan_, graph_.tokens));
  std::ranges::copy(rows.tokens, tokens.begin());
  SHUNT_ASSIGN(const auto positions, input<std::int32_t>(*plan_, graph_.positions));
  SHUNT_ASSIGN(const auto mask, input<std::uint16_t>(*plan_, graph_.mask));
  SHUNT_ASSIGN(const auto labels, input<float>(*plan_, graph_.labels));
  constexpr std::uint16_t kMinusInfinity = 0xfc00;  // of F16
  std::ranges::fill(mask, kMinusInfinity);
  for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
    const auto at = static_cast<std::int32_t>(i % static_cast<std::size_t>(rows.context));
    const std::int32_t start = rows.starts[i];
    positions[i] = at - start;
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(i) * rows.context + start,
                at - start + 1, std::uint16_t{0});
    float* const column = labels.data() + i * static_cast<std::size_t>(vocabulary_);
    if (labelled_[i] >= 0) column[labelled_[i]] = 0;
    if (rows.next[i] >= 0) column[rows.next[i]] = label;
  }
  labelled_ = rows.next;
  return ok();
}

Result<double> LossPlan::run(const TrainingRows& rows, double weight,
                             const std::atomic<bool>* cancel) {
  // The loss is the mean over all tokens, scored or not.
  const auto tokens = static_cast<double>(rows.tokens.size());
  SHUNT_TRY(fill(rows, static_cast<float>(weight * tokens)));
  SHUNT_TRY(plan_->run(cancel));
  SHUNT_ASSIGN(const auto bytes, plan_->output(graph_.loss));
  float loss = 0;
  std::memcpy(&loss, bytes.data(), sizeof loss);
  return loss;
}

}  // namespace shunt
