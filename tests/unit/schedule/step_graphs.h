// Graphs of the networks that planning memory is tested and measured with, made by builder
// functions: a Llama, a mixture of experts, a convolutional network.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "schedule/memory/homes.h"
#include "schedule/plan/allocation.h"
#include "shunt/ops.h"

namespace shunt {

/// A transformer as Llama (arXiv 2302.13971) has it, or with experts as Mixtral (arXiv 2401.04088).
struct TransformerShape {
  std::int64_t layers = 16;
  std::int64_t width = 2048;
  std::int64_t feed_forward = 8192;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t vocabulary = 128256;
  std::int64_t experts = 0;  ///< 0: one feed-forward for all tokens
  std::int64_t used = 2;     ///< experts that a token uses
  std::int64_t tokens = 512;
  std::int64_t context = 4096;
  DType weights = DType::kQ8_0;
};

/// 8 experts of which each token uses 2.
inline constexpr TransformerShape kMixtureOfExperts = {
    .width = 4096, .feed_forward = 14336, .vocabulary = 32000, .experts = 8};

/// Makes leaves as they are asked for, and passes on the first error.
class StepGraphBuilder {
 protected:
  Result<Value> weight(DType type, const Shape& shape, Role role = Role::kWeight) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, shape));
    return g_.weight(fmt::format("weight {}", leaves_++), tensor, role);
  }
  Result<Value> input(DType type, const Shape& shape) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, shape));
    return g_.input(fmt::format("input {}", leaves_++), tensor);
  }
  Result<Graph> finish(Operand y) {
    SHUNT_TRY(g_.output(y, "y"));
    return std::move(g_).build();
  }

  GraphBuilder g_;
  int leaves_ = 0;
};

/// One step: tokens in, logits of the last token out, keys and values into caches.
class TransformerStep : StepGraphBuilder {
 public:
  explicit TransformerStep(const TransformerShape& shape)
      : n_(shape), head_(shape.width / shape.heads) {}

  Result<Graph> build() {
    positions_ = input(DType::kI32, {n_.tokens});
    rows_ = input(DType::kI64, {n_.tokens});
    mask_ = input(DType::kF16, {n_.context, n_.tokens});
    const Result<Value> table = weight(n_.weights, {n_.width, n_.vocabulary});
    Result<Value> x = get_rows(g_, table, input(DType::kI32, {n_.tokens}));
    for (std::int64_t layer = 0; layer < n_.layers; ++layer) {
      x = add(g_, x, attend(norm(x)));
      x = add(g_, x, n_.experts == 0 ? feed_forward(norm(x)) : mix_experts(norm(x)));
    }
    x = view(g_, x, {0, n_.tokens - 1, 0, 0}, {n_.width, 1});
    return finish(matmul(g_, table, norm(x)));
  }

 private:
  Result<Value> norm(Operand x) {
    return mul(g_, rms_norm(g_, x), weight(DType::kF32, {n_.width}));
  }
  Result<Value> linear(Operand x, std::int64_t from, std::int64_t to) {
    return matmul(g_, weight(n_.weights, {from, to}), x);
  }

  Result<Value> remember(Operand rows) {
    const std::int64_t width = head_ * n_.kv_heads;
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF16, {width, n_.context}));
    const Result<Value> cache = g_.cache(fmt::format("cache {}", leaves_++), tensor);
    return reshape(g_, set_rows(g_, cache, rows, rows_), {head_, n_.kv_heads, n_.context});
  }

  Result<Value> attend(Operand x) {
    const std::int64_t kv = head_ * n_.kv_heads;
    const auto turn = [&](Operand rows, std::int64_t heads) {
      return rope(g_, reshape(g_, rows, {head_, heads, n_.tokens}), positions_, absent(),
                  {.dims = head_});
    };
    const Result<Value> q = linear(x, n_.width, n_.width);
    const Result<Value> k = linear(x, n_.width, kv);
    const Result<Value> v = linear(x, n_.width, kv);
    const Result<Value> queries = turn(q, n_.heads);
    const Result<Value> keys = remember(reshape(g_, turn(k, n_.kv_heads), {kv, n_.tokens}));
    const Result<Value> values = remember(v);
    const float scale = 1 / std::sqrt(static_cast<float>(head_));
    const Result<Value> mixed = attention(g_, queries, keys, values, mask_, {.scale = scale});
    return linear(reshape(g_, mixed, {n_.width, n_.tokens}), n_.width, n_.width);
  }

  Result<Value> feed_forward(Operand x) {
    const Result<Value> gate = linear(x, n_.width, n_.feed_forward);
    const Result<Value> up = linear(x, n_.width, n_.feed_forward);
    return linear(swiglu(g_, gate, up), n_.feed_forward, n_.width);
  }

  Result<Value> experts(Operand x, Operand chosen, std::int64_t from, std::int64_t to) {
    return matmul_id(g_, weight(n_.weights, {from, to, n_.experts}, Role::kExpertWeight), x,
                     chosen);
  }

  /// y[t] = sum over the experts u of a token of softmax(scores)[u] * expert u of x[t].
  Result<Value> mix_experts(Operand x) {
    const Result<Value> scores = matmul(g_, weight(DType::kF32, {n_.width, n_.experts}), x);
    const Result<Value> chosen = top_k(g_, scores, {n_.used});
    const Result<Value> best =
        get_rows(g_, reshape(g_, scores, {1, n_.experts, n_.tokens}), chosen);
    const Result<Value> shares = softmax(g_, reshape(g_, best, {n_.used, n_.tokens}));
    const Result<Value> columns = reshape(g_, x, {n_.width, 1, n_.tokens});
    const Result<Value> gate = experts(columns, chosen, n_.width, n_.feed_forward);
    const Result<Value> up = experts(columns, chosen, n_.width, n_.feed_forward);
    const Result<Value> down = experts(swiglu(g_, gate, up), chosen, n_.feed_forward, n_.width);
    const Result<Value> weighted = mul(g_, down, reshape(g_, shares, {1, n_.used, n_.tokens}));
    const auto of = [&](std::int64_t u) {
      return view(g_, weighted, {0, u, 0, 0}, {n_.width, 1, n_.tokens});
    };
    Result<Value> sum = of(0);
    for (std::int64_t u = 1; u < n_.used; ++u) sum = add(g_, sum, of(u));
    return reshape(g_, sum, {n_.width, n_.tokens});
  }

  TransformerShape n_;
  std::int64_t head_;
  Result<Value> positions_ = Value{};
  Result<Value> rows_ = Value{};
  Result<Value> mask_ = Value{};
};

inline Result<Graph> transformer_step(const TransformerShape& shape) {
  return TransformerStep(shape).build();
}

/// A residual network (arXiv 1512.03385). The defaults are its form of 50 layers.
struct ResidualShape {
  std::int64_t image = 224;
  std::int64_t images = 1;
  std::int64_t channels = 64;
  std::vector<int> blocks = {3, 4, 6, 3};
  std::int64_t classes = 1000;
  DType weights = DType::kF16;
};

class ResidualNetwork : StepGraphBuilder {
 public:
  explicit ResidualNetwork(ResidualShape shape) : n_(std::move(shape)) {}

  Result<Graph> build() {
    Result<Value> x = input(DType::kF32, {n_.image, n_.image, 3, n_.images});
    x = relu(g_, convolve(x, 3, n_.channels, 7, 2));
    x = pool_2d(g_, x, {Pooling::kMax, {3, 3}, {2, 2}, {1, 1}});
    std::int64_t channels = n_.channels;
    for (std::size_t stage = 0; stage < n_.blocks.size(); ++stage) {
      const std::int64_t width = n_.channels << stage;
      for (int i = 0; i < n_.blocks[stage]; ++i) {
        x = block(x, channels, width, stage > 0 && i == 0 ? 2 : 1);
        channels = 4 * width;
      }
    }
    if (!x) return Error(x.error());
    const Tensor last = g_.tensor(*x);
    x = pool_2d(g_, x, {Pooling::kAverage, {last.size(0), last.size(1)}, {1, 1}, {0, 0}});
    x = reshape(g_, x, {channels, n_.images});
    x = matmul(g_, weight(n_.weights, {channels, n_.classes}), x);
    return finish(softmax(g_, add(g_, x, weight(DType::kF32, {n_.classes}))));
  }

 private:
  /// Normalised over a batch while training: by now a factor and a shift for each channel.
  Result<Value> convolve(Operand x, std::int64_t from, std::int64_t to, std::int64_t kernel,
                         std::int64_t stride) {
    const std::int64_t pad = kernel / 2;
    const Result<Value> y = conv_2d(g_, weight(n_.weights, {kernel, kernel, from, to}), x,
                                    {.stride = {stride, stride}, .pad = {pad, pad}});
    const Result<Value> scaled = mul(g_, y, weight(DType::kF32, {1, 1, to}));
    return add(g_, scaled, weight(DType::kF32, {1, 1, to}));
  }

  Result<Value> block(Operand x, std::int64_t channels, std::int64_t width, std::int64_t stride) {
    const Result<Value> narrow = relu(g_, convolve(x, channels, width, 1, 1));
    const Result<Value> middle = relu(g_, convolve(narrow, width, width, 3, stride));
    const Result<Value> wide = convolve(middle, width, 4 * width, 1, 1);
    if (channels == 4 * width) return relu(g_, add(g_, wide, x));
    return relu(g_, add(g_, wide, convolve(x, channels, 4 * width, 1, stride)));
  }

  ResidualShape n_;
};

inline Result<Graph> residual_network(ResidualShape shape = {}) {
  return ResidualNetwork(std::move(shape)).build();
}

/// The requests of compile() to the memory of a device that runs all of a graph, but for inputs.
inline Result<std::vector<MemoryRequest>> requests_of(const Graph& graph, Device& device) {
  Device* const devices[] = {&device};
  SHUNT_ASSIGN(const Placement placement, place(graph, devices));
  const auto kept = graph.outputs();
  const SegmentedGraph cut = cut_segments(graph, placement, kept, memory_types(graph, placement));
  std::vector<std::unique_ptr<Program>> programs;
  const auto outside = std::make_unique<bool[]>(graph.size());
  for (NodeId id : kept) outside[id] = true;
  for (const Segment& segment : cut.segments) {
    SHUNT_ASSIGN(auto program,
                 device.prepare({graph, segment.nodes, {outside.get(), graph.size()}}));
    programs.push_back(std::move(program));
  }
  SHUNT_ASSIGN(Allocation allocation, allocate_plan(graph, placement, cut, programs, kept, false));
  return std::move(allocation.pools[0].shared.requests);
}

}  // namespace shunt
