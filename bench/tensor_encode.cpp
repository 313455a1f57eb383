// Encoding rows of 4096 normally distributed values, on one thread: the time of a row, and the
// error of the block types over 256 rows. Counter "rms": root mean square error relative to that of
// the values. Counter "weighted": the same of the weighted error, by an encoder that knows the
// weights. These are log-uniform over two decades, drawn for each column. Counter "gain": by how
// much that error is smaller than the error of an encoder that does not know them. Decoding, for
// comparison.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "shunt/tensor.h"

namespace shunt {
namespace {

constexpr std::size_t kColumns = 4096;
constexpr std::size_t kRows = 256;

struct Data {
  std::vector<float> values = std::vector<float>(kRows * kColumns);
  std::vector<float> weights = std::vector<float>(kColumns);
  std::vector<float> alike = std::vector<float>(kColumns, 1.0f);

  Data() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> exponent(-1.0f, 1.0f);
    for (float& value : values) value = normal(random);
    for (float& weight : weights) weight = std::pow(10.0f, exponent(random));
  }
  const float* row(std::size_t i) const { return values.data() + i % kRows * kColumns; }
};

const Data& data() {
  static const Data kData;
  return kData;
}

/// Encodes rows of a type; null weights where the type needs none.
struct Coder {
  const DTypeTrait& type;
  std::vector<std::byte> bytes = std::vector<std::byte>(
      kColumns / static_cast<std::size_t>(type.block_elements) * type.block_bytes);
  std::vector<float> decoded = std::vector<float>(kColumns);

  void encode(const float* row, const float* weights) {
    if (weights == nullptr && type.needs_weights()) weights = data().alike.data();
    if (weights == nullptr) {
      type.encode(row, bytes.data(), kColumns);
    } else {
      type.encode_weighted(row, weights, bytes.data(), kColumns);
    }
  }
  void decode() { type.decode(bytes.data(), decoded.data(), kColumns); }

  /// Over all rows: the root of the sum of measure * error^2, relative to that of the values.
  double error(const float* weights, const float* measure) {
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      const float* row = data().row(i);
      encode(row, weights);
      decode();
      for (std::size_t c = 0; c < kColumns; ++c) {
        const double x = row[c];
        error += measure[c] * (x - decoded[c]) * (x - decoded[c]);
        norm += measure[c] * x * x;
      }
    }
    return std::sqrt(error / norm);
  }
};

void encode(benchmark::State& state, const DTypeTrait& type) {
  Coder coder{type};
  const float* weights = data().weights.data();
  state.counters["rms"] = coder.error(nullptr, data().alike.data());
  if (type.encode_weighted != nullptr) {
    const double unaware = coder.error(nullptr, weights);
    const double aware = coder.error(weights, weights);
    state.counters["weighted"] = aware;
    state.counters["gain"] = 1 - aware / unaware;
  }
  const float* used = type.encode_weighted != nullptr ? weights : nullptr;
  std::size_t row = 0;
  for (auto _ : state) {
    coder.encode(data().row(row++), used);
    benchmark::DoNotOptimize(coder.bytes.data());
  }
}

void decode(benchmark::State& state, const DTypeTrait& type) {
  Coder coder{type};
  coder.encode(data().row(0), nullptr);
  for (auto _ : state) {
    coder.decode();
    benchmark::DoNotOptimize(coder.decoded.data());
  }
}

/// A benchmark of each kind for each block type.
const bool kRegistered = [] {
  for (const DTypeTrait& type : dtypes()) {
    if (!type.quantized || (type.encode == nullptr && type.encode_weighted == nullptr)) continue;
    const std::string name(type.name);
    benchmark::RegisterBenchmark(("encode_row/" + name).c_str(), encode, type)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("decode_row/" + name).c_str(), decode, type)
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace shunt
