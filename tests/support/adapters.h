// LoRA adapters made for a test, and the weights of a model with their changes added.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shunt/gguf.h"

namespace shunt::test {

/// The matrices of a weight W [inputs, outputs, matrices].
struct TestMatrices {
  std::string weight;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t matrices = 1;
  std::int64_t rank = 0;
  /// A [inputs, rank, matrices] and B [rank, outputs, matrices]; of token embeddings A is [rank,
  /// outputs] and B is [rank, inputs].
  std::vector<float> a;
  std::vector<float> b;

  bool is_embedding() const { return weight == "token_embd.weight"; }
};

struct TestAdapter {
  std::string architecture = "llama";
  double alpha = 1;
  std::vector<TestMatrices> weights;
};

/// A weight's name and its sizes, innermost first.
struct AdaptableWeight {
  std::string name;
  std::vector<std::int64_t> sizes;
};

/// Random matrices for all of these weights. The same seed gives the same ones.
TestAdapter random_adapter(std::string architecture, std::span<const AdaptableWeight> weights,
                           std::int64_t rank, std::uint32_t seed);
/// The weights of a model's file with a name that `is_wanted` accepts; all that can have adapters
/// without it.
std::vector<AdaptableWeight> adaptable_weights(
    const std::string& path, const std::function<bool(const std::string&)>& is_wanted = {});
/// Whether a tensor is a matrix that adapters may change.
bool is_adaptable(const std::string& name, std::size_t dims);

/// A file in other hands: `change` gets its writer last. Throws if it can't be written.
void write_adapter(const std::string& path, const TestAdapter& adapter,
                   const std::function<void(gguf::Writer&)>& change = {});
/// W + scale * alpha / rank * B A, added up in double.
std::vector<float> merged(std::span<const float> weight, const TestAdapter& adapter,
                          const TestMatrices& matrices, double scale = 1);

}  // namespace shunt::test
