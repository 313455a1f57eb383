#include "support/test_model.h"

#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "base/to_size.h"
#include "model/synth_noise.h"
#include "model/synth_vocabulary.h"
#include "shunt/gguf.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"

namespace shunt::test {

namespace architectures {

namespace {

using Row = WeightRow<Numbers>;
using N = Numbers;
constexpr bool kNeeded = false;
constexpr bool kOfSomeLayers = true;

/// In the order of Weight.
constexpr std::array kTable = {
    Row{"token_embd.weight", {&N::width, &N::vocabulary}, kNeeded, WeightRole::kEmbedding},
    Row{"output_norm.weight", {&N::width, nullptr}},
    Row{"output.weight", {&N::width, &N::vocabulary}, kNeeded, WeightRole::kOutput},
    Row{"blk.{}.attn_norm.weight", {&N::width, nullptr}},
    Row{"blk.{}.attn_q.weight", {&N::width, &N::width}, kOfSomeLayers},
    Row{"blk.{}.attn_k.weight", {&N::width, &N::kv_width}, kOfSomeLayers},
    Row{"blk.{}.attn_v.weight", {&N::width, &N::kv_width}, kOfSomeLayers},
    Row{"blk.{}.ssm_in.weight", {&N::width, &N::conv_width}, kOfSomeLayers},
    Row{"blk.{}.ssm_conv1d.weight", {&N::taps, &N::conv_width}, kOfSomeLayers},
    Row{"blk.{}.ssm_alpha.weight", {&N::width, &N::heads}, kOfSomeLayers},
    Row{"blk.{}.ssm_beta.weight", {&N::width, &N::heads}, kOfSomeLayers},
    Row{"blk.{}.attn_output.weight", {&N::width, &N::width}},
    Row{"blk.{}.ffn_norm.weight", {&N::width, nullptr}},
    Row{"blk.{}.ffn_gate.weight", {&N::width, &N::feed_forward}},
    Row{"blk.{}.ffn_up.weight", {&N::width, &N::feed_forward}},
    Row{"blk.{}.ffn_down.weight", {&N::feed_forward, &N::width}},
};

}  // namespace

std::span<const WeightRow<Numbers>> weight_table() {
  return kTable;
}

LayerKind kind_of(std::string_view architecture, std::int64_t layer) {
  if (layer % 2 != 0) return LayerKind::kAttention;
  if (architecture == kWindows) return LayerKind::kWindow;
  constexpr std::array kInTurn = {LayerKind::kWindow, LayerKind::kDeltaNet, LayerKind::kWideWindow};
  if (architecture == kMixed) return kInTurn[to_size(layer / 2) % kInTurn.size()];
  return LayerKind::kDeltaNet;
}

bool has_kind(std::string_view architecture, LayerKind kind) {
  if (architecture == kMixed) return true;
  return kind == LayerKind::kAttention || kind == kind_of(architecture, 0);
}

std::int64_t Numbers::window_of(LayerKind kind) const {
  if (kind == LayerKind::kWindow) return window;
  return kind == LayerKind::kWideWindow ? 3 * window : 0;
}

bool has(LayerKind kind, std::size_t weight) {
  if (!kTable[weight].optional) return true;
  const bool is_of_delta_net = weight >= kDeltaInput && weight <= kShare;
  return is_of_delta_net == (kind == LayerKind::kDeltaNet);
}

namespace {

Numbers numbers_of(const TestModelOptions& options) {
  Numbers n;
  n.width = options.width;
  n.vocabulary = options.vocabulary;
  n.feed_forward = options.feed_forward;
  n.heads = options.heads;
  n.kv_heads = options.kv_heads;
  n.window = options.window;
  n.taps = options.taps;
  n.whole_caches = options.whole_caches;
  n.complete();
  return n;
}

void add_metadata(gguf::Writer& writer, const TestModelOptions& options) {
  const auto add = [&](const char* key, std::int64_t number) {
    writer.add_u32(fmt::format("{}.{}", options.architecture, key),
                   static_cast<std::uint32_t>(number));
  };
  writer.add_string("general.architecture", std::string(options.architecture));
  add("vocab_size", options.vocabulary);
  add("context_length", 4096);
  add("embedding_length", options.width);
  add("block_count", options.layers);
  add("feed_forward_length", options.feed_forward);
  add("attention.head_count", options.heads);
  add("attention.head_count_kv", options.kv_heads);
  if (has_kind(options.architecture, LayerKind::kWindow))
    add("attention.sliding_window", options.window);
  if (has_kind(options.architecture, LayerKind::kDeltaNet)) add("ssm.conv_kernel", options.taps);
  if (options.whole_caches) add("whole_caches", 1);
  add_synth_vocabulary(writer, options.vocabulary);
}

/// Norms are 1. The elements of matrices have the variance 1 / (inputs).
std::vector<float> values_of(const Tensor& tensor, std::uint64_t key) {
  std::vector<float> values(to_size(element_count(tensor.shape)), 1.0F);
  const auto inputs = static_cast<float>(tensor.size(0));
  if (tensor.size(1) > 1) fill_noise(values, key, 0, 1 / std::sqrt(inputs));
  return values;
}

Status write(const std::string& path, const TestModelOptions& options) {
  const Numbers n = numbers_of(options);
  gguf::Writer writer;
  add_metadata(writer, options);
  std::vector<Tensor> tensors;
  const auto table = weight_table();
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::int64_t layers = table[row].in_layers() ? options.layers : 1;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      if (!has(kind_of(options.architecture, layer), row)) continue;
      const auto [inner, outer] = table[row].sizes;
      SHUNT_ASSIGN(const Tensor tensor,
                   make_tensor(DType::kF32, {n.*inner, outer == nullptr ? 1 : n.*outer}));
      SHUNT_TRY(writer.add_tensor(table[row].name_in(layer), tensor));
      tensors.push_back(tensor);
    }
  }
  std::vector<float> values;
  return writer.write(path, [&](std::size_t index) -> Result<std::span<const std::byte>> {
    values = values_of(tensors[index], mix_bits(options.seed + mix_bits(index + 1)));
    const auto bytes = std::as_writable_bytes(std::span(values));
    convert_byte_order(DType::kF32, std::endian::little, bytes);
    return bytes;
  });
}

}  // namespace

}  // namespace architectures

void write_test_model(const std::string& path, const TestModelOptions& options) {
  const Status written = architectures::write(path, options);
  if (!written) throw std::runtime_error(written.error().message());
}

}  // namespace shunt::test
