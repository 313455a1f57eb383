#include "engine/embed/score_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/to_size.h"
#include "engine/session/sequence_adapters.h"
#include "model/slot.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// A row of a matrix, or a vector.
std::vector<float> row_of(const gguf::File& file, const gguf::TensorInfo& info, std::int64_t row) {
  const DTypeTrait& type = trait(info.tensor.dtype);
  const std::int64_t size = info.tensor.size(0);
  const std::size_t bytes = to_size(size / type.block_elements) * type.block_bytes;
  const auto data = file.data(info).subspan(to_size(row) * bytes, bytes);
  std::vector<std::byte> in_memory(data.begin(), data.end());
  convert_byte_order(info.tensor.dtype, info.order, in_memory);
  std::vector<float> numbers(to_size(size));
  type.decode(in_memory.data(), numbers.data(), size);
  return numbers;
}

std::vector<std::vector<float>> rows_of(const gguf::File& file, const gguf::TensorInfo& info) {
  std::vector<std::vector<float>> rows;
  rows.reserve(to_size(info.tensor.size(1)));
  for (std::int64_t row = 0; row < info.tensor.size(1); ++row)
    rows.push_back(row_of(file, info, row));
  return rows;
}

/// The names of tensors that adapters change, and that make logits.
std::vector<std::string> adapted_outputs(const ModelState& model) {
  std::vector<std::string> names;
  const auto add = [&](WeightSlot slot) {
    for (const AdapterStack& stack : model.adapters.stacks->of(slot, 0))
      names.push_back(stack.weight);
  };
  add(WeightSlot::kOutput);
  if (model.definition->model_weight(WeightSlot::kOutput) == nullptr) add(WeightSlot::kEmbedding);
  return names;
}

/// The head has rows of the output as the file has them.
Status check_output_is_not_adapted(const ModelState& model, std::span<const AdapterUse> uses) {
  if (model.adapters.stacks == nullptr) return ok();
  const std::vector<std::string> outputs = adapted_outputs(model);
  for (const auto& [index, scale] : adapter_sums(uses)) {
    const AdapterFile& adapter = model.adapters.files[index];
    for (const AdapterPair& pair : adapter.pairs) {
      if (std::ranges::find(outputs, pair.weight) == outputs.end()) continue;
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor {} changes {}, whose rows are the scores of a model without a "
                  "classifier head; adapters of it can't be used to rank",
                  adapter.info.path, pair.a->name, pair.weight);
    }
  }
  return ok();
}

double gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}

}  // namespace

bool ScoreHead::Layer::fits(std::size_t inputs) const {
  return std::ranges::all_of(rows, [&](const auto& row) { return row.size() == inputs; }) &&
         (bias.empty() || bias.size() == rows.size());
}

std::vector<double> ScoreHead::Layer::operator()(std::span<const double> x) const {
  std::vector<double> y(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    y[i] = bias.empty() ? 0 : bias[i];
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += rows[i][j] * x[j];
  }
  return y;
}

Status ScoreHead::check(std::int64_t inputs) const {
  const std::size_t between = dense_ ? dense_->rows.size() : to_size(inputs);
  if ((!dense_ || dense_->fits(to_size(inputs))) && (norm_.empty() || norm_.size() == between) &&
      output_.fits(between))
    return ok();
  return fail(ErrorCode::kBadFile, "the classifier head does not fit embeddings of {}",
              counted(to_size(inputs), "number"));
}

Result<ScoreHead> ScoreHead::of_model(const ModelState& model) {
  const ModelDefinition& definition = *model.definition;
  const auto vector = [&](WeightSlot slot) {
    const gguf::TensorInfo* info = definition.model_weight(slot);
    return info == nullptr ? std::vector<float>() : row_of(model.file, *info, 0);
  };
  const gguf::TensorInfo* output = definition.model_weight(WeightSlot::kHeadOutput);
  if (output == nullptr || !definition.shape().head)
    return fail(ErrorCode::kUnsupported, "the model has no classifier head");
  ScoreHead head;
  head.gelu_ = definition.shape().head->gelu;
  head.norm_eps_ = definition.shape().head->norm_eps;
  if (const gguf::TensorInfo* dense = definition.model_weight(WeightSlot::kHead))
    head.dense_ = Layer{rows_of(model.file, *dense), vector(WeightSlot::kHeadBias)};
  head.norm_ = vector(WeightSlot::kHeadNorm);
  head.output_ = {rows_of(model.file, *output), vector(WeightSlot::kHeadOutputBias)};
  SHUNT_TRY(head.check(definition.shape().outputs));
  return head;
}

Result<ScoreHead> ScoreHead::of_tokens(const ModelState& model,
                                       std::span<const std::int32_t> tokens,
                                       std::span<const AdapterUse> adapters) {
  const ModelDefinition& definition = *model.definition;
  const gguf::TensorInfo* output = definition.model_weight(WeightSlot::kOutput);
  if (output == nullptr) output = definition.model_weight(WeightSlot::kEmbedding);
  if (output == nullptr || !definition.shape().plain_logits) {
    return fail(ErrorCode::kUnsupported,
                "logits of this model have a scale or a cap, which scores of documents lack");
  }
  SHUNT_TRY(check_output_is_not_adapted(model, adapters));
  ScoreHead head;
  for (const std::int32_t token : tokens)
    head.output_.rows.push_back(row_of(model.file, *output, token));
  SHUNT_TRY(head.check(definition.shape().outputs));
  return head;
}

/// Minus the mean, divided by the standard deviation, times a weight.
void ScoreHead::apply_norm(std::vector<double>& x) const {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  for (const double each : x) mean += each / count;
  double variance = 0;
  for (const double each : x) variance += (each - mean) * (each - mean) / count;
  const double factor = 1 / std::sqrt(variance + norm_eps_);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - mean) * factor * norm_[i];
}

std::vector<double> ScoreHead::scores(std::span<const float> embedding) const {
  std::vector<double> x(embedding.begin(), embedding.end());
  if (dense_) {
    x = (*dense_)(x);
    for (double& each : x) each = gelu_ ? gelu(each) : std::tanh(each);
  }
  if (!norm_.empty()) apply_norm(x);
  return output_(x);
}

}  // namespace shunt
