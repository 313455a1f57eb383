// Scores of a text from its embedding: a small matrix, or two, on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/model_state.h"

namespace shunt {

/// score = output * f(dense * x + bias) + output bias; without the first matrix, output * x.
class ScoreHead {
 public:
  /// The classifier head of a model that has one.
  static Result<ScoreHead> of_model(const ModelState& model);
  /// The logits of some tokens, which the model's output makes. Unsupported, naming file and
  /// tensor, for adapters in use that change the output. check_adapters() must accept them.
  static Result<ScoreHead> of_tokens(const ModelState& model, std::span<const std::int32_t> tokens,
                                     std::span<const AdapterUse> adapters);

  std::vector<double> scores(std::span<const float> embedding) const;

 private:
  /// Rows of inputs, and maybe a number to add to each result.
  struct Layer {
    std::vector<std::vector<float>> rows;
    std::vector<float> bias;

    bool fits(std::size_t inputs) const;
    /// As many as fits() accepts.
    std::vector<double> operator()(std::span<const double> x) const;
  };
  /// Invalid unless the head takes embeddings of this size, and its matrices fit each other.
  Status check(std::int64_t inputs) const;
  void apply_norm(std::vector<double>& x) const;

  std::optional<Layer> dense_;
  bool gelu_ = false;
  double norm_eps_ = 0;
  std::vector<float> norm_;  // none: without
  Layer output_;
};

}  // namespace shunt
