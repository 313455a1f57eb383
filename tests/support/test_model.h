// The files of small architectures beside those of the library: their numbers and weights, and
// random models of them. test_architectures.h reads them. Every second layer, from the first on, is
// not attention to all tokens before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/weight_table.h"

namespace shunt::test {

/// These layers are attention to a window of the last tokens.
inline constexpr std::string_view kWindows = "windows";
/// These layers are a gated delta net after a convolution: two states for each sequence.
inline constexpr std::string_view kHybrid = "hybrid";
/// These layers are in turn a window, a delta net, and a window three times as wide.
inline constexpr std::string_view kMixed = "mixed";

struct TestModelOptions {
  std::string_view architecture = kWindows;
  std::int64_t layers = 2;
  std::int64_t width = 16;
  std::int64_t feed_forward = 16;
  std::int64_t heads = 2;
  std::int64_t kv_heads = 1;
  std::int64_t vocabulary = 300;
  std::int64_t window = 40;  ///< tokens
  std::int64_t taps = 4;     ///< of the convolution
  /// Caches of layers with windows have rows for all tokens: such a model declares no windows.
  bool whole_caches = false;
  std::uint64_t seed = 1;
};

/// Writes a model of one of them with random weights. Throws if that can't be done.
void write_test_model(const std::string& path, const TestModelOptions& options);

namespace architectures {

enum class LayerKind : std::uint8_t { kAttention, kWindow, kWideWindow, kDeltaNet };

/// The sizes that a model's weights have.
struct Numbers {
  std::int64_t width = 0;
  std::int64_t vocabulary = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;  // of keys and values
  std::int64_t kv_width = 0;   // kv_heads * head_size
  std::int64_t window = 0;     // if there are layers with windows
  std::int64_t taps = 0;       // if there are delta nets
  bool whole_caches = false;
  std::int64_t conv_width = 0;  // the same: queries, keys and values of all heads

  /// Numbers of a sequence's states in a layer.
  std::int64_t conv_state() const { return conv_width * (taps - 1); }
  std::int64_t net_state() const { return head_size * head_size * heads; }

  /// The tokens that a token sees in layers of a kind, with itself; 0: all before it.
  std::int64_t window_of(LayerKind kind) const;

  /// Computes those that follow from others.
  void complete() {
    head_size = width / heads;
    kv_width = kv_heads * head_size;
    conv_width = 3 * width;
  }
};

enum Weight : std::size_t {
  kEmbedding,
  kOutputNorm,
  kOutput,
  kMixNorm,
  kQuery,
  kKey,
  kValue,
  kDeltaInput,
  kConvolution,
  kDecay,
  kShare,
  kMixOutput,
  kFeedNorm,
  kGate,
  kUp,
  kDown,
};

/// Their rows, in the order of Weight.
std::span<const WeightRow<Numbers>> weight_table();

LayerKind kind_of(std::string_view architecture, std::int64_t layer);
/// Whether an architecture has layers of a kind.
bool has_kind(std::string_view architecture, LayerKind kind);
/// Whether layers of this kind have a weight of the table.
bool has(LayerKind kind, std::size_t weight);

}  // namespace architectures
}  // namespace shunt::test
