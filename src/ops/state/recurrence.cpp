#include "ops/state/recurrence.h"

#include <algorithm>

#include "ops/common/checks.h"
#include "ops/view/view.h"
#include "tensor/checked.h"

namespace shunt {

Status expect_f32_of(std::string_view name, const Tensor& tensor, const Shape& wanted,
                     std::string_view form) {
  SHUNT_TRY(expect_type(name, tensor, {DType::kF32}));
  if (tensor.shape == wanted) return ok();
  return invalid(
      "{} is {}, but {} is {}{}", name, to_string(tensor), form, to_string(wanted),
      max_sizes(tensor.shape) == max_sizes(wanted) ? ", with other dynamic dimensions" : "");
}

Status expect_fixed(std::string_view name, const Tensor& tensor, int dims) {
  for (int i = 0; i < dims; ++i) {
    const Dim& dim = tensor.shape[static_cast<std::size_t>(i)];
    if (dim.is_fixed()) continue;
    return invalid("dimension {} of {} is {}, a dynamic dimension, which it may not be", i, name,
                   to_string(dim));
  }
  return ok();
}

Status expect_states(const Tensor& states, const Shape& state, int state_dims, const Tensor* ids,
                     const Dim& sequences) {
  SHUNT_TRY(expect_type("states", states, {DType::kF32}));
  for (int i = 0; i < state_dims; ++i) {
    SHUNT_TRY(expect_dim("states", states, i, state[static_cast<std::size_t>(i)],
                         "that of the other sources"));
  }
  SHUNT_TRY(expect_dims("states", states, state_dims + 1));
  if (ids == nullptr) {
    return expect_dim("states", states, state_dims, sequences,
                      "the number of sequences (without ids)");
  }
  SHUNT_TRY(expect_id_type("ids", *ids));
  SHUNT_TRY(expect_dims("ids", *ids, 1));
  return expect_dim("ids", *ids, 0, sequences, "the number of sequences");
}

Status expect_keys_and_values(const OpInfo& info, SourceTensors sources,
                              std::initializer_list<std::size_t> keys, std::size_t values) {
  const std::size_t first = *keys.begin();
  const Tensor& leader = *sources[first];
  SHUNT_TRY(expect_type(info.sources[first], leader, {DType::kF32}));
  SHUNT_TRY(expect_fixed(info.sources[first], leader, 2));
  for (std::size_t i : keys) {
    SHUNT_TRY(expect_f32_of(info.sources[i], *sources[i], leader.shape, info.sources[first]));
  }
  const Tensor& v = *sources[values];
  SHUNT_TRY(expect_fixed(info.sources[values], v, 1));
  Shape wanted = leader.shape;
  wanted[0] = v.shape[0];
  return expect_f32_of(info.sources[values], v, wanted, "[V, H, T, S]");
}

Result<Inferred> infer_recurrence(const Dim& channels, const Dim& heads, const Dim& tokens,
                                  std::int64_t state_rows, const Dim& sequences) {
  const std::int64_t rows = saturating_add(tokens.max, state_rows);
  return contiguous(DType::kF32,
                    {saturating_multiply(channels.max, heads.max), rows, sequences, 1});
}

Result<Recurrence> recurrence_parts(GraphBuilder& g, Operand result, const RecurrenceForm& form) {
  if (!result) return Error(result.error());
  const Shape all = g.tensor(*result).shape;
  const Dim tokens = form.outputs[static_cast<std::size_t>(form.output_dims)];
  const std::int64_t state_rows = all[1].max - tokens.max;
  Shape states = form.states;
  states[static_cast<std::size_t>(form.state_dims)] = all[2];
  Recurrence parts;
  SHUNT_ASSIGN(parts.outputs, reshape(g, view(g, result, {0, 0, 0, 0}, {all[0], tokens, all[2], 1}),
                                      form.outputs));
  SHUNT_ASSIGN(
      parts.states,
      reshape(g, view(g, result, {0, tokens.max, 0, 0}, {all[0], state_rows, all[2], 1}), states));
  return parts;
}

namespace {

Sizes state_sizes(const RefTensor& states, int state_dims) {
  Sizes sizes = states.sizes;
  sizes[static_cast<std::size_t>(state_dims)] = 1;
  return sizes;
}

}  // namespace

RefRecurrence::RefRecurrence(const RefTensor& states, int state_dims, const RefTensor* ids,
                             std::int64_t s, RefTensor& result)
    : state_(state_sizes(states, state_dims)), result_(result), s_(s) {
  const std::int64_t id = ids != nullptr ? static_cast<std::int64_t>(ids->at(s)) : s;
  if (id < 0 || id >= states.sizes[static_cast<std::size_t>(state_dims)]) return;
  const auto count = static_cast<std::ptrdiff_t>(state_.data.size());
  std::copy_n(states.data.begin() + id * count, count, state_.data.begin());
}

void RefRecurrence::finish(std::int64_t tokens) {
  const std::int64_t channels = result_.sizes[0];
  for (std::size_t i = 0; i < state_.data.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    result_.at(element % channels, tokens + element / channels, s_) = state_.data[i];
  }
}

}  // namespace shunt
