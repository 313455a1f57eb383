// Attention on the CPU whose tokens and keys are extents: what is shared out among threads hangs on
// actual sizes, results don't, to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/common/cache_types.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test {
namespace {

constexpr std::int64_t kHeads = 6;
constexpr std::int64_t kKeyHeads = 2;
constexpr std::int64_t kSize = 32;
constexpr std::int64_t kMostTokens = 50;
constexpr std::int64_t kMostKeys = 900;

/// Values for sources, of which the first `tokens` and `keys` are used.
RefTensor cut(const RefTensor& all, const Sizes& sizes) {
  RefTensor part(sizes);
  for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
    for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
      for (std::int64_t i0 = 0; i0 < sizes[0]; ++i0) part.at(i0, i1, i2) = all.at(i0, i1, i2);
    }
  }
  return part;
}

class AttentionOnTheCpu : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    Options options;
    options.threads = 3;
    registry_ = std::move(*Registry::create(options));
    devices_ = *registry_->select({});
    if (devices_.empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  }

  /// [size, heads, tokens], of which `extents` says whether tokens and keys are.
  RefTensor attend(std::int64_t tokens, std::int64_t keys, bool extents) {
    GraphBuilder g;
    const Dim t = extents ? *g.extent("tokens", kMostTokens) : Dim(tokens);
    const Dim n = extents ? *g.extent("keys", kMostKeys) : Dim(keys);
    const auto input = [&](DType type, const Shape& shape) {
      return g.input("", *make_tensor(type, shape));
    };
    const auto q = input(DType::kF32, {kSize, kHeads, t});
    const auto k = input(GetParam(), {kSize, kKeyHeads, n});
    const auto v = input(GetParam(), {kSize, kKeyHeads, n});
    const auto mask = input(DType::kF32, {n, t});
    const auto sinks = input(DType::kF32, {kHeads});
    const AttentionParams params = {.scale = 0.2F, .max_bias = 8, .softcap = 30};
    const auto y = attention(g, q, k, v, mask, params, sinks);
    EXPECT_TRUE(y) << y.error().message();
    EXPECT_TRUE(g.output(y, "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    auto run = GraphRun::create(graph, devices_, {});
    EXPECT_TRUE(run) << run.error().message();
    ExtentValues actual = graph->max_extents();
    if (extents) {
      EXPECT_TRUE((*run)->plan().set_extent(t, tokens));
      EXPECT_TRUE((*run)->plan().set_extent(n, keys));
      actual[t.extent] = tokens;
      actual[n.extent] = keys;
    }
    const Sizes of_keys = {kSize, kKeyHeads, keys, 1};
    EXPECT_TRUE((*run)->set_inputs({{q->id, cut(q_, {kSize, kHeads, tokens, 1})},
                                    {k->id, cut(k_, of_keys)},
                                    {v->id, cut(v_, of_keys)},
                                    {mask->id, cut(mask_, {keys, tokens, 1, 1})},
                                    {sinks->id, sinks_}}));
    const Status status = (*run)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    return *(*run)->output(y->id, actual);
  }

  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
  RefTensor q_ = make_values({.sizes = {kSize, kHeads, kMostTokens, 1}}, 1);
  RefTensor k_ = make_values({.sizes = {kSize, kKeyHeads, kMostKeys, 1}}, 2);
  RefTensor v_ = make_values({.sizes = {kSize, kKeyHeads, kMostKeys, 1}}, 3);
  RefTensor mask_ = make_values({.sizes = {kMostKeys, kMostTokens, 1, 1}}, 4);
  RefTensor sinks_ = make_values({.sizes = {kHeads, 1, 1, 1}}, 5);
};

TEST_P(AttentionOnTheCpu, OfAQueryDoesNotHangOnHowManyComeWithIt) {
  // With 3 heads to a head of k, 10 queries are a part: up to so many, keys are shared out.
  for (const std::int64_t keys : {256, 257, 900}) {
    const RefTensor all = attend(kMostTokens, keys, false);
    for (const std::int64_t tokens : {1, 2, 10, 11}) {
      const RefTensor few = attend(tokens, keys, false);
      EXPECT_EQ(few.data, cut(all, few.sizes).data) << tokens << " queries, " << keys << " keys";
    }
  }
}

TEST_P(AttentionOnTheCpu, DoesNotHangOnTheMaximumOfExtents) {
  for (const std::int64_t tokens : {1, 10, 11, 50}) {
    for (const std::int64_t keys : {1, 256, 257, 900}) {
      EXPECT_EQ(attend(tokens, keys, true).data, attend(tokens, keys, false).data)
          << tokens << " queries, " << keys << " keys";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionOnTheCpu, testing::ValuesIn(kCacheTypes),
                         [](const auto& each) { return std::string(to_string(each.param)); });

}  // namespace
}  // namespace shunt::test
