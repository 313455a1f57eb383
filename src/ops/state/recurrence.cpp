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

namespace {

std::size_t tokens_dim(int dims) {
  return static_cast<std::size_t>(dims - 1);
}
std::size_t sequences_dim(int dims) {
  return static_cast<std::size_t>(dims);
}

/// `states`: F32 of `state` in its first dimensions and R of them in the last; ids, if any, number
/// one for each of the sequences, else there are as many states as sequences.
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

}  // namespace

Result<Inferred> infer_recurrence(const OpInfo& info, SourceTensors sources, StatesSource states,
                                  const RecurrenceSizes& sizes) {
  const Tensor& leader = *sources[0];
  const Tensor* ends = sources[states.index + 2];
  const Dim& columns = leader.shape[sequences_dim(states.dims)];
  if (ends != nullptr) {
    SHUNT_TRY(expect_type("ends", *ends, {DType::kI32}));
    SHUNT_TRY(expect_dims("ends", *ends, 1));
    SHUNT_TRY(expect_dim(info.sources[0], leader, states.dims, 1, "that of tokens with ends"));
  }
  const Dim& sequences = ends != nullptr ? ends->shape[0] : columns;
  SHUNT_TRY(expect_states(*sources[states.index], sizes.state, states.dims,
                          sources[states.index + 1], sequences));
  const std::int64_t state_rows =
      saturating_multiply(sizes.state_rows.max, ends != nullptr ? sequences.max : 1);
  return contiguous(
      DType::kF32,
      {saturating_multiply(sizes.channels.max, sizes.heads.max),
       saturating_add(leader.shape[tokens_dim(states.dims)].max, state_rows), columns, 1});
}

Result<Recurrence> recurrence_parts(GraphBuilder& g, Operand result, Operand ends,
                                    const RecurrenceForm& form) {
  if (!result) return Error(result.error());
  const Shape all = g.tensor(*result).shape;
  const Dim tokens = form.outputs[tokens_dim(form.dims)];
  Dim sequences = all[2];
  Dim state_rows = all[1].max - tokens.max;
  if (ends->id != kNoNode) {
    sequences = g.tensor(*ends).shape[0];
    const std::int64_t each = sequences.max == 0 ? 0 : state_rows.max / sequences.max;
    state_rows = sequences;
    state_rows.max *= each;
    state_rows.factor *= each;
  }
  Shape states = form.states;
  states[sequences_dim(form.dims)] = sequences;
  Recurrence parts;
  SHUNT_ASSIGN(parts.outputs, reshape(g, view(g, result, {0, 0, 0, 0}, {all[0], tokens, all[2], 1}),
                                      form.outputs));
  SHUNT_ASSIGN(
      parts.states,
      reshape(g, view(g, result, {0, tokens.max, 0, 0}, {all[0], state_rows, all[2], 1}), states));
  return parts;
}

namespace {

Sizes state_sizes(const RefTensor& states, int dims) {
  Sizes sizes = states.sizes;
  sizes[sequences_dim(dims)] = 1;
  return sizes;
}

}  // namespace

std::int64_t RefRecurrence::count(RefSources sources, StatesSource states) {
  const RefTensor* ends = sources[states.index + 2];
  return ends != nullptr ? ends->sizes[0] : sources[0]->sizes[sequences_dim(states.dims)];
}

RefRecurrence::RefRecurrence(RefSources sources, StatesSource states, std::int64_t s,
                             RefTensor& result)
    : state_(state_sizes(*sources[states.index], states.dims)),
      result_(result),
      tokens_(sources[0]->sizes[tokens_dim(states.dims)]),
      output_rows_(sources[0]->most_of(tokens_dim(states.dims))) {
  const RefTensor* ids = sources[states.index + 1];
  const RefTensor* ends = sources[states.index + 2];
  const auto end_of = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(ends->at(i)), 0, tokens_);
  };
  if (ends == nullptr) {
    column_ = s;
    end_ = tokens_;
  } else {
    place_ = s;
    first_ = s == 0 ? 0 : end_of(s - 1);
    end_ = std::max(first_, end_of(s));
  }
  const RefTensor& all = *sources[states.index];
  const std::int64_t id = ids != nullptr ? static_cast<std::int64_t>(ids->at(s)) : s;
  if (id < 0 || id >= all.sizes[sequences_dim(states.dims)]) return;
  const auto count = static_cast<std::ptrdiff_t>(state_.data.size());
  std::copy_n(all.data.begin() + id * count, count, state_.data.begin());
}

void RefRecurrence::finish() {
  const std::int64_t channels = result_.sizes[0];
  const std::int64_t before = place_ * std::ssize(state_.data);
  for (std::size_t i = 0; i < state_.data.size(); ++i) {
    const std::int64_t element = before + static_cast<std::int64_t>(i);
    result_.at(element % channels, output_rows_ + element / channels, column_) = state_.data[i];
  }
}

}  // namespace shunt
