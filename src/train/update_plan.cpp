#include "train/update_plan.h"

#include <cmath>
#include <cstring>

#include "shunt/message.h"
#include "shunt/ops.h"

namespace shunt {

namespace {

Result<Value> leaf(GraphBuilder& g, const Parameters& parameters, const Parameter& parameter,
                   Part part, std::vector<LeafMemory>& memory) {
  SHUNT_ASSIGN(const Value value, g.cache(parameter.info->name, parameter.tensor));
  memory.push_back({value.id, parameters.address(parameter, part)});
  return value;
}

Result<std::unique_ptr<Plan>> plan_of(GraphBuilder g, const std::vector<LeafMemory>& memory,
                                      Device& cpu) {
  SHUNT_ASSIGN(Graph graph, std::move(g).build());
  Device* const devices[] = {&cpu};
  return make_plan(std::make_shared<const Graph>(std::move(graph)), devices, {.memory = memory},
                   {.steps_in_flight = 1});
}

template <class T>
Status set(Plan& plan, Value leaf, T number) {
  SHUNT_ASSIGN(const auto bytes, plan.input(leaf));
  std::memcpy(bytes.data(), &number, sizeof number);
  return ok();
}

}  // namespace

Result<UpdatePlan> UpdatePlan::create(const Parameters& parameters, const TrainOptions& options,
                                      Device& cpu) {
  UpdatePlan made;
  {
    GraphBuilder g;
    std::vector<LeafMemory> memory;
    Result<Value> squares = absent();
    for (const Parameter& parameter : parameters.all()) {
      const auto gradient = leaf(g, parameters, parameter, Part::kGradient, memory);
      const Result<Value> here = sum(g, sqr(g, gradient));
      squares = memory.size() == 1 ? here : add(g, squares, here);
    }
    SHUNT_TRY(g.output(squares, "sum of squares"));
    made.squares_ = *squares;
    SHUNT_ASSIGN(made.length_, plan_of(std::move(g), memory, cpu));
  }
  GraphBuilder g;
  std::vector<LeafMemory> memory;
  const auto input = [&](Value& value, const char* name, DType type) -> Status {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, {1}));
    SHUNT_ASSIGN(value, g.input(name, tensor));
    return ok();
  };
  SHUNT_TRY(input(made.step_, "step", DType::kI32));
  SHUNT_TRY(input(made.rate_, "rate", DType::kF32));
  SHUNT_TRY(input(made.factor_, "factor", DType::kF32));
  for (const Parameter& parameter : parameters.all()) {
    const auto part = [&](Part which) { return leaf(g, parameters, parameter, which, memory); };
    const bool matrix = parameter.tensor.size(1) > 1;
    const float decay = matrix ? static_cast<float>(options.weight_decay) : 0.0F;
    const Result<Value> weight = part(Part::kValue);
    const Result<Value> gradient = mul(g, part(Part::kGradient), made.factor_);
    const auto updated = [&] {
      if (options.optimizer == Optimizer::kSgd) {
        return opt_step_sgd(g, weight, gradient, made.rate_, {.weight_decay = decay});
      }
      return opt_step_adamw(g, weight, gradient, part(Part::kMean), part(Part::kSquare), made.rate_,
                            made.step_,
                            {.beta1 = static_cast<float>(options.beta1),
                             .beta2 = static_cast<float>(options.beta2),
                             .eps = static_cast<float>(options.eps),
                             .weight_decay = decay});
    };
    SHUNT_TRY(g.output(updated(), "updated " + parameter.info->name));
  }
  SHUNT_ASSIGN(made.update_, plan_of(std::move(g), memory, cpu));
  return made;
}

Result<double> UpdatePlan::gradient_length() {
  SHUNT_TRY(length_->run());
  SHUNT_ASSIGN(const auto bytes, length_->output(squares_));
  float squares = 0;
  std::memcpy(&squares, bytes.data(), sizeof squares);
  return std::sqrt(static_cast<double>(squares));
}

Status UpdatePlan::run(std::int64_t step, double rate, double factor) {
  SHUNT_TRY(set(*update_, step_, static_cast<std::int32_t>(step)));
  SHUNT_TRY(set(*update_, rate_, static_cast<float>(rate)));
  SHUNT_TRY(set(*update_, factor_, static_cast<float>(factor)));
  return update_->run();
}

}  // namespace shunt
