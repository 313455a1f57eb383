#include "support/adapters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "base/to_size.h"
#include "support/must.h"
#include "tensor/byte_order.h"

namespace shunt::test {
namespace {

/// Parts of the names of tensors that are no matrices of products.
constexpr std::array<std::string_view, 7> kOthers = {
    "conv1d",      "shortconv.conv",       "ssm_norm", "position_embd",
    "token_types", "per_layer_token_embd", "norm"};

std::vector<float> noise(std::int64_t count, float largest, std::mt19937& random) {
  std::vector<float> values(to_size(count));
  for (float& value : values) {
    const auto unit = static_cast<float>(random() >> 8U) / static_cast<float>(1U << 23U) - 1;
    value = largest * unit;
  }
  return values;
}

std::vector<std::byte> little(std::span<const float> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i)
    store_little(values[i], &bytes[i * sizeof(float)]);
  return bytes;
}

}  // namespace

bool is_adaptable(const std::string& name, std::size_t dims) {
  if (dims < 2 || !name.ends_with(".weight")) return false;
  return std::ranges::none_of(
      kOthers, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::vector<AdaptableWeight> adaptable_weights(
    const std::string& path, const std::function<bool(const std::string&)>& is_wanted) {
  const gguf::File file = must(gguf::File::open(path));
  std::vector<AdaptableWeight> weights;
  for (const gguf::TensorInfo& info : file.tensors()) {
    std::vector<std::int64_t> sizes = {info.tensor.size(0), info.tensor.size(1)};
    if (info.tensor.size(2) > 1) sizes.push_back(info.tensor.size(2));
    if (!is_adaptable(info.name, sizes[1] > 1 ? sizes.size() : 1)) continue;
    if (!is_wanted || is_wanted(info.name)) weights.push_back({info.name, sizes});
  }
  return weights;
}

TestAdapter random_adapter(std::string architecture, std::span<const AdaptableWeight> weights,
                           std::int64_t rank, std::uint32_t seed) {
  std::mt19937 random(seed);
  TestAdapter adapter;
  adapter.architecture = std::move(architecture);
  adapter.alpha = static_cast<double>(rank) / 2;
  for (const auto& [name, sizes] : weights) {
    TestMatrices made = {.weight = name,
                         .inputs = sizes.at(0),
                         .outputs = sizes.at(1),
                         .matrices = sizes.size() > 2 ? sizes[2] : 1,
                         .rank = rank,
                         .a = {},
                         .b = {}};
    const auto share = static_cast<float>(std::sqrt(3.0 / static_cast<double>(made.inputs)));
    const std::int64_t of_a = made.is_embedding() ? made.outputs : made.inputs;
    const std::int64_t of_b = made.is_embedding() ? made.inputs : made.outputs;
    made.a = noise(of_a * rank * made.matrices, share, random);
    made.b = noise(of_b * rank * made.matrices, 0.5F, random);
    adapter.weights.push_back(std::move(made));
  }
  return adapter;
}

void write_adapter(const std::string& path, const TestAdapter& adapter,
                   const std::function<void(gguf::Writer&)>& change) {
  gguf::Writer writer;
  writer.add_string("general.type", "adapter");
  writer.add_string("general.architecture", adapter.architecture);
  writer.add_string("adapter.type", "lora");
  writer.add_f32("adapter.lora.alpha", static_cast<float>(adapter.alpha));
  std::vector<const std::vector<float>*> data;
  for (const TestMatrices& matrices : adapter.weights) {
    const auto& [weight, inputs, outputs, count, rank, a, b] = matrices;
    const Shape of_a = matrices.is_embedding() ? Shape{rank, outputs} : Shape{inputs, rank, count};
    const Shape of_b = matrices.is_embedding() ? Shape{rank, inputs} : Shape{rank, outputs, count};
    must(writer.add_tensor(weight + ".lora_a", must(make_tensor(DType::kF32, of_a))));
    must(writer.add_tensor(weight + ".lora_b", must(make_tensor(DType::kF32, of_b))));
    data.push_back(&a);
    data.push_back(&b);
  }
  if (change) change(writer);
  std::vector<std::byte> bytes;
  must(writer.write(path, [&](std::size_t index) -> Result<std::span<const std::byte>> {
    bytes = little(*data.at(index));
    return bytes;
  }));
}

std::vector<float> merged(std::span<const float> weight, const TestAdapter& adapter,
                          const TestMatrices& matrices, double scale) {
  const auto& [name, inputs, outputs, count, rank, a, b] = matrices;
  const double factor = scale * adapter.alpha / static_cast<double>(rank);
  std::vector<float> made(weight.begin(), weight.end());
  for (std::int64_t m = 0; m < count; ++m) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        double change = 0;
        for (std::int64_t r = 0; r < rank; ++r) {
          const bool turned = matrices.is_embedding();
          const std::int64_t in_a = turned ? r + rank * o : i + inputs * (r + rank * m);
          const std::int64_t in_b = turned ? r + rank * i : r + rank * (o + outputs * m);
          change += double{a[to_size(in_a)]} * double{b[to_size(in_b)]};
        }
        float& value = made[to_size(i + inputs * (o + outputs * m))];
        value = static_cast<float>(value + factor * change);
      }
    }
  }
  return made;
}

}  // namespace shunt::test
