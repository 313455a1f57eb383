// The computation of attention: scores in FP32, softmax and sums in double, one rounding.
#include <limits>

#include "ascend/ops/attention/attention.h"
#include "ascend/ops/products/sums.h"
#include "common/reals.h"

namespace ascend_twin {
namespace {

/// A masked score: softmax makes it 0 beside any other, and rows of nothing else are means.
constexpr float kHidden = -1e12F;

/// The operands of a call, by batch and head.
struct Inputs {
  std::vector<float> query;             ///< [B][N][S][D]
  std::vector<std::vector<float>> key;  ///< of the list's members
  std::vector<std::vector<float>> value;
  std::vector<float> bias;  ///< [B or 1][N][S][columns]
  Shape bias_shape;
  std::vector<std::int64_t> mask;  ///< [B or 1][rows][columns]
  Shape mask_shape;
  std::vector<double> sink;
  bool has_mask = false;
};

/// One row of scores on its way to shares.
struct Row {
  double greatest = -std::numeric_limits<double>::infinity();
  double sum = 0;  ///< of exp(score - greatest)
  bool is_hidden = true;
  /// Not by NaN: it shows in the sum.
  void raise(double score) {
    if (score > greatest) greatest = score;
  }
};

Inputs read_inputs(const Kernel& kernel, const AttentionRoles& roles, const Attention& attention) {
  const auto heads = [&](std::size_t position, std::size_t member, std::int64_t count) {
    Operand operand = kernel.operand(position, member);
    operand.view = heads_view(operand.view, attention.layout, count);
    return read_floats(operand);
  };
  Inputs inputs;
  inputs.query = heads(roles.query, 0, attention.heads);
  for (std::size_t i = 0; i < kernel.call.at(roles.key).views.size(); ++i) {
    inputs.key.push_back(heads(roles.key, i, attention.key_heads));
    inputs.value.push_back(heads(roles.value, i, attention.key_heads));
  }
  if (roles.bias != kAbsent && kernel.has(roles.bias)) {
    inputs.bias = read_floats(kernel.operand(roles.bias));
    inputs.bias_shape = kernel.call.view(roles.bias).shape;
  }
  if (roles.mask != kAbsent && kernel.has(roles.mask)) {
    inputs.has_mask = true;
    // The pattern of the compressed masks is known.
    if (attention.sparse < 2 || attention.queries == 1) {
      inputs.mask = read_integers(kernel.operand(roles.mask));
      inputs.mask_shape = kernel.call.view(roles.mask).shape;
      Shape& shape = inputs.mask_shape;
      if (shape.size() == 2) shape.insert(shape.begin() + (attention.queries == 1 ? 1 : 0), 1);
      if (shape.size() == 4) shape.erase(shape.begin() + 1);
    }
  }
  if (roles.sink != kAbsent && kernel.has(roles.sink))
    inputs.sink = read(kernel.operand(roles.sink));
  return inputs;
}

/// Whether the mask or the band hides a key from a query.
bool is_hidden(const Attention& attention, const Inputs& inputs, std::int64_t batch, std::int64_t i,
               std::int64_t j) {
  if (!inputs.has_mask) return false;
  if (!inputs.mask.empty()) {
    const Shape& shape = inputs.mask_shape;
    const std::int64_t block = shape[0] == 1 ? 0 : batch;
    if (inputs.mask[static_cast<std::size_t>((block * shape[1] + i) * shape[2] + j)] != 0)
      return true;
  }
  if (attention.queries == 1 || attention.sparse == 1) return false;
  const auto at = static_cast<std::size_t>(batch);
  // Modes 3 and 4 align the last query with the last key.
  const std::int64_t shift =
      attention.sparse >= 3 ? attention.key_lengths[at] - attention.query_lengths[at] : 0;
  const std::int64_t distance = j - i - shift;
  if (attention.sparse == 2 || attention.sparse == 3) return distance > 0;
  return distance > attention.after || -distance > attention.before;
}

class Computation {
 public:
  Computation(Kernel& kernel, const AttentionRoles& roles, const Attention& attention)
      : attention_(attention),
        inputs_(read_inputs(kernel, roles, attention)),
        scale_(static_cast<float>(kernel.call.real(roles.scale))),
        saturates_(kernel.operand(roles.out).saturates) {
    const std::int64_t rows = attention.batches * attention.heads * attention.queries;
    out_.resize(static_cast<std::size_t>(rows * attention.width));
    lse_.resize(static_cast<std::size_t>(rows), std::numeric_limits<double>::infinity());
  }

  void head(std::int64_t batch, std::int64_t head) {
    const bool in_list = inputs_.key.size() > 1;
    const std::size_t member = in_list ? static_cast<std::size_t>(batch) : 0;
    const std::int64_t width = attention_.width;
    const std::int64_t keys = static_cast<std::int64_t>(inputs_.key[member].size()) /
                              ((in_list ? 1 : attention_.batches) * attention_.key_heads * width);
    const std::int64_t key_head = head / (attention_.heads / attention_.key_heads);
    const std::int64_t block = (in_list ? 0 : batch) * attention_.key_heads + key_head;
    const float* const key = inputs_.key[member].data() + block * keys * width;
    const float* const value = inputs_.value[member].data() + block * keys * width;
    const std::int64_t length = attention_.key_lengths[static_cast<std::size_t>(batch)];
    const std::int64_t rows = attention_.query_lengths[static_cast<std::size_t>(batch)];
    const std::int64_t first = (batch * attention_.heads + head) * attention_.queries;
    if (length == 0) return;
    std::vector<float> scores(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < rows; ++i) {
      multiply(inputs_.query.data() + (first + i) * width, key, 1, length, width, scores.data());
      const Row row = finish_scores(batch, head, i, scores);
      sum_values(row, scores, value, first + i);
    }
  }

  const std::vector<double>& out() const { return out_; }
  const std::vector<double>& lse() const { return lse_; }

 private:
  float bias_at(std::int64_t batch, std::int64_t head, std::int64_t i, std::int64_t j) const {
    const Shape& shape = inputs_.bias_shape;
    const std::int64_t block = (shape[0] == 1 ? 0 : batch) * shape[1] + head;
    return inputs_.bias[static_cast<std::size_t>((block * shape[2] + i) * shape[3] + j)];
  }

  Row finish_scores(std::int64_t batch, std::int64_t head, std::int64_t i,
                    std::vector<float>& scores) const {
    Row row;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const auto at = static_cast<std::int64_t>(j);
      float score = scores[j] * scale_;
      if (!inputs_.bias.empty()) score += bias_at(batch, head, i, at);
      if (attention_.rounds_scores) {
        score = static_cast<float>(rounded_to(ACL_FLOAT16, static_cast<double>(score), saturates_));
      }
      const bool hidden = is_hidden(attention_, inputs_, batch, i, at);
      if (hidden) score = kHidden;
      row.is_hidden = row.is_hidden && (hidden || score == -std::numeric_limits<float>::infinity());
      row.raise(static_cast<double>(score));
      scores[j] = score;
    }
    if (!inputs_.sink.empty()) row.raise(inputs_.sink[static_cast<std::size_t>(head)]);
    for (const float score : scores)
      row.sum += twin::exp_of(static_cast<double>(score) - row.greatest);
    if (!inputs_.sink.empty())
      row.sum += twin::exp_of(inputs_.sink[static_cast<std::size_t>(head)] - row.greatest);
    return row;
  }

  void sum_values(const Row& row, const std::vector<float>& scores, const float* value,
                  std::int64_t place) {
    if (row.is_hidden && attention_.corrects_hidden) return;
    const std::int64_t width = attention_.width;
    double* const out = out_.data() + place * width;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const double share = twin::exp_of(static_cast<double>(scores[j]) - row.greatest) / row.sum;
      for (std::int64_t d = 0; d < width; ++d) {
        out[d] += share * static_cast<double>(value[static_cast<std::int64_t>(j) * width + d]);
      }
    }
    lse_[static_cast<std::size_t>(place)] = row.greatest + twin::log_of(row.sum);
  }

  const Attention& attention_;
  Inputs inputs_;
  float scale_;
  bool saturates_;
  std::vector<double> out_, lse_;
};

}  // namespace

Status attend(Kernel& kernel, const AttentionRoles& roles) {
  Attention attention;
  ASCEND_TWIN_TRY(attention_of(kernel.call, roles, &attention));
  Computation computation(kernel, roles, attention);
  for (std::int64_t batch = 0; batch < attention.batches; ++batch) {
    for (std::int64_t head = 0; head < attention.heads; ++head) computation.head(batch, head);
  }
  Operand out = kernel.operand(roles.out);
  out.view = heads_view(out.view, attention.out_layout, attention.heads);
  write(out, computation.out());
  if (roles.lse_flag != kAbsent && kernel.call.integer(roles.lse_flag) != 0)
    write(kernel.operand(roles.lse), computation.lse());
  return ACL_SUCCESS;
}

}  // namespace ascend_twin
