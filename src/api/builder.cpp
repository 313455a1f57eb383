#include "shunt/builder.h"

#include <cstring>

#include "api/builder_state.h"
#include "base/guarded.h"
#include "shunt/message.h"
#include "tensor/bytes_of.h"

namespace shunt {

namespace {

Error compiled_already() {
  return Error(ErrorCode::kInvalidArgument, "the graph of this builder has been compiled");
}

}  // namespace

Builder::Builder() : state_(std::make_shared<BuilderState>()) {}

Expr apply_op(std::span<const Expr* const> operands,
              const std::function<Result<Value>(GraphBuilder&)>& op) {
  std::shared_ptr<BuilderState> state;
  bool of_two = false;
  for (const Expr* operand : operands) {
    if (operand->state_ == nullptr) continue;
    of_two = of_two || (state != nullptr && state != operand->state_);
    if (state == nullptr) state = operand->state_;
  }
  if (state == nullptr) return Expr(nullptr, invalid("no operand is a value of a builder"));
  Result<Value> value = guarded([&]() -> Result<Value> {
    for (const Expr* operand : operands) {
      if (!*operand) return Error(operand->error());
    }
    if (of_two) return invalid("operands are values of different builders");
    if (state->compiled) return compiled_already();
    return op(state->graph);
  });
  if (!value) state->failed(value.error());
  return Expr(std::move(state), std::move(value));
}

RecurrenceExpr apply_recurrence(std::initializer_list<const Expr*> operands,
                                const std::function<Result<Recurrence>(GraphBuilder&)>& op) {
  Value states;
  const Expr outputs = apply_op(operands, [&](GraphBuilder& g) -> Result<Value> {
    SHUNT_ASSIGN(const Recurrence both, op(g));
    states = both.states;
    return both.outputs;
  });
  if (!outputs) return {outputs, outputs};
  return {outputs, apply_op({&outputs}, [&](GraphBuilder&) -> Result<Value> { return states; })};
}

Expr custom(const std::vector<Expr>& sources, CustomParams params) {
  std::vector<const Expr*> operands;
  operands.reserve(sources.size());
  for (const Expr& source : sources) operands.push_back(&source);
  return apply_op(operands, [&](GraphBuilder& g) {
    const std::vector<Result<Value>> values(sources.begin(), sources.end());
    return custom(g, values, std::move(params));
  });
}

Expr Builder::apply(const std::function<Result<Value>(GraphBuilder&)>& op) {
  Result<Value> value = guarded([&]() -> Result<Value> {
    if (state_->compiled) return compiled_already();
    return op(state_->graph);
  });
  if (!value) state_->failed(value.error());
  return Expr(state_, std::move(value));
}

Dim Builder::dynamic_dim(std::string name, std::int64_t max) {
  const Result<Dim> dim = guarded([&]() -> Result<Dim> {
    if (state_->compiled) return compiled_already();
    for (const DynamicDim& dynamic_dim : state_->graph.graph().dynamic_dims().subspan(1)) {
      if (dynamic_dim.name == name) return invalid("there are two dynamic dimensions \"{}\"", name);
    }
    return state_->graph.dynamic_dim(std::move(name), max);
  });
  if (dim) return *dim;
  state_->failed(dim.error());
  return Dim(0);
}

Expr Builder::input(std::string name, DType dtype, const Shape& shape) {
  return apply([&](GraphBuilder& g) -> Result<Value> {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(dtype, shape));
    if (state_->inputs.contains(name)) return invalid("there are two inputs \"{}\"", name);
    SHUNT_ASSIGN(const Value value, g.input(name, tensor));
    state_->inputs.emplace(std::move(name), value);
    return value;
  });
}

Expr Builder::weight(std::string name, DType dtype, const Shape& shape,
                     std::span<const std::byte> bytes) {
  return apply([&](GraphBuilder& g) -> Result<Value> {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(dtype, shape));
    const std::size_t wanted = bytes_of(tensor);
    if (bytes.size() != wanted) {
      return invalid("weight {}: {} takes {} bytes, not {}", name, to_string(tensor), wanted,
                     bytes.size());
    }
    AlignedBytes memory = allocate_aligned(std::max<std::size_t>(wanted, 1), 64);
    if (memory == nullptr) {
      return fail(ErrorCode::kOutOfMemory, "weight {}: no memory for {} bytes", name, wanted);
    }
    if (wanted > 0) std::memcpy(memory.get(), bytes.data(), wanted);
    SHUNT_ASSIGN(const Value value, g.weight(std::move(name), tensor));
    state_->weights.push_back({value.id, std::move(memory), wanted});
    return value;
  });
}

Builder& Builder::name(const Expr& value, std::string name) {
  const Status named = guarded([&]() -> Status {
    if (!value) return Error(value.error());
    if (state_->compiled) return compiled_already();
    if (value.state_ != state_) return invalid("name {}: a value of another builder", name);
    return state_->graph.name(value, std::move(name));
  });
  if (!named) state_->failed(named.error());
  return *this;
}

Builder& Builder::output(std::string name, const Expr& value) & {
  const Status marked = guarded([&]() -> Status {
    if (!value) return Error(value.error());
    if (state_->compiled) return compiled_already();
    if (value.state_ != state_) return invalid("output {}: a value of another builder", name);
    if (state_->outputs.contains(name)) return invalid("there are two outputs \"{}\"", name);
    SHUNT_TRY(state_->graph.output(value, name));
    const Result<Value>& found = value;
    state_->outputs.emplace(std::move(name), *found);
    return ok();
  });
  if (!marked) state_->failed(marked.error());
  return *this;
}

Builder&& Builder::output(std::string name, const Expr& value) && {
  output(std::move(name), value);
  return std::move(*this);
}

Status Builder::status() const {
  if (state_->first_error) return Error(*state_->first_error);
  return ok();
}

}  // namespace shunt
