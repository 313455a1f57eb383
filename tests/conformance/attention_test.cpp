// Attention on the CPU whose tokens and keys are dynamic dimensions. The split among threads
// depends on actual sizes; results don't, to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "graph/reference.h"
#include "ops/common/cache_types.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::attention_test {
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

  /// [size, heads, tokens], of which `dynamic_dims` says whether tokens and keys are.
  RefTensor attend(std::int64_t tokens, std::int64_t keys, bool dynamic_dims) {
    GraphBuilder g;
    const Dim t = dynamic_dims ? *g.dynamic_dim("tokens", kMostTokens) : Dim(tokens);
    const Dim n = dynamic_dims ? *g.dynamic_dim("keys", kMostKeys) : Dim(keys);
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
    DynamicDimValues actual = graph->max_dynamic_dims();
    if (dynamic_dims) {
      EXPECT_TRUE((*run)->plan().set_dynamic_dim(t, tokens));
      EXPECT_TRUE((*run)->plan().set_dynamic_dim(n, keys));
      actual[t.dynamic_dim] = tokens;
      actual[n.dynamic_dim] = keys;
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

TEST_P(AttentionOnTheCpu, ResultOfAQueryDoesNotDependOnTheNumberOfQueries) {
  // With 3 heads to a head of k, 21 queries are a part: up to that number, keys are shared out.
  for (const std::int64_t keys : {256, 257, 900}) {
    const RefTensor all = attend(kMostTokens, keys, false);
    for (const std::int64_t tokens : {1, 2, 10, 21, 22}) {
      const RefTensor few = attend(tokens, keys, false);
      EXPECT_EQ(few.data, cut(all, few.sizes).data) << tokens << " queries, " << keys << " keys";
    }
  }
}

TEST_P(AttentionOnTheCpu, DoesNotDependOnTheMaximumOfDynamicDims) {
  for (const std::int64_t tokens : {1, 21, 22, 50}) {
    for (const std::int64_t keys : {1, 256, 257, 900}) {
      EXPECT_EQ(attend(tokens, keys, true).data, attend(tokens, keys, false).data)
          << tokens << " queries, " << keys << " keys";
    }
  }
}

/// Queries of three sequences, whose keys are in scattered blocks of 64. Each query sees its own
/// sequence's first keys, up to a length of its own. Its result is that of the formula, and does
/// not depend on the queries that come with it, to the bit. Few queries share out keys, many don't.
TEST_P(AttentionOnTheCpu, WithSeveralSequencesMatchesTheFormula) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  constexpr std::int64_t kBlock = 64;
  // Blocks of a sequence in its order; no sequence has 4 and 9. The last one has many whole
  // stretches.
  const std::vector<std::vector<std::int64_t>> blocks = {
      {0, 3, 13}, {2}, {1, 5, 6, 7, 8, 10, 11, 12}};
  mask_ = RefTensor({kMostKeys, kMostTokens, 1, 1});
  std::fill(mask_.data.begin(), mask_.data.end(), kMinusInfinity);
  for (std::int64_t t = 0; t < kMostTokens; ++t) {
    // Runs of queries as of prompts, then single ones as of generation.
    const auto& own = blocks[static_cast<std::size_t>(t < 20 ? t / 8 : t % 3)];
    const std::int64_t length = std::ssize(own) * kBlock - 1 - 3 * (t % 17);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t key = own[static_cast<std::size_t>(i / kBlock)] * kBlock + i % kBlock;
      if (key < kMostKeys) mask_.at(key, t) = 0;
    }
  }
  // 3 heads to a head of k: 21 queries are the most rows that share out keys, 22 are more.
  const RefTensor all = attend(kMostTokens, kMostKeys, false);
  for (const std::int64_t tokens : {2, 9, 20, 21, 22, 40}) {
    const RefTensor few = attend(tokens, kMostKeys, false);
    EXPECT_EQ(few.data, cut(all, few.sizes).data) << tokens << " queries";
  }
  for (const std::int64_t t : {0, 9, 19, 20, 21, 22, 49}) {
    for (std::int64_t n = 0; n < kMostKeys; ++n) mask_.at(n, 0) = mask_.at(n, t);
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t i = 0; i < kSize; ++i) q_.at(i, h, 0) = q_.at(i, h, t);
    }
    const RefTensor one = attend(1, kMostKeys, false);
    // The formula, over keys that it sees.
    for (std::int64_t h = 0; h < kHeads; ++h) {
      const std::int64_t of_k = h / (kHeads / kKeyHeads);
      const auto weight = [&](double score) { return std::exp(30 * std::tanh(score / 30)); };
      double sum = std::exp(sinks_.at(h));
      std::vector<double> y(kSize);
      for (std::int64_t n = 0; n < kMostKeys; ++n) {
        if (mask_.at(n, 0) == kMinusInfinity) continue;
        double dot = 0;
        for (std::int64_t i = 0; i < kSize; ++i) dot += q_.at(i, h, 0) * k_.at(i, of_k, n);
        const double w = weight(dot * 0.2F);
        sum += w;
        for (std::int64_t i = 0; i < kSize; ++i)
          y[static_cast<std::size_t>(i)] += w * v_.at(i, of_k, n);
      }
      for (std::int64_t i = 0; i < kSize; ++i) {
        EXPECT_EQ(one.at(i, h, 0), all.at(i, h, t)) << "head " << h << ", query " << t;
        if (GetParam() != DType::kF32) continue;
        EXPECT_NEAR(one.at(i, h, 0), y[static_cast<std::size_t>(i)] / sum, 1e-5)
            << "head " << h << ", query " << t;
      }
    }
  }
}

/// A NaN makes every result that depends on it NaN, and no other. No key is hidden here.
TEST_P(AttentionOnTheCpu, NaNReachesExactlyTheDependentResults) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::int64_t kShared = kHeads / kKeyHeads;
  struct Place {
    const char* what;
    double& value;
    std::function<bool(std::int64_t i, std::int64_t head, std::int64_t query)> reaches;
  };
  const Place places[] = {
      {"q", q_.at(3, 4, 0), [](auto, auto head, auto query) { return head == 4 && query == 0; }},
      {"k", k_.at(3, 1, 20), [](auto, auto head, auto) { return head / kShared == 1; }},
      {"v", v_.at(3, 1, 20), [](auto i, auto head, auto) { return i == 3 && head / kShared == 1; }},
      {"sinks", sinks_.at(2), [](auto, auto head, auto) { return head == 2; }},
  };
  for (const Place& place : places) {
    const bool of_keys = &place.value == &k_.at(3, 1, 20) || &place.value == &v_.at(3, 1, 20);
    if (of_keys && trait(GetParam()).block_elements != 1) continue;  // has no way to say so
    const double before = std::exchange(place.value, kNan);
    for (const std::int64_t tokens : {1, 50}) {
      for (const std::int64_t keys : {40, 900}) {
        const RefTensor y = attend(tokens, keys, false);
        for (std::int64_t t = 0; t < tokens; ++t) {
          for (std::int64_t h = 0; h < kHeads; ++h) {
            for (std::int64_t i = 0; i < kSize; ++i) {
              ASSERT_EQ(std::isnan(y.at(i, h, t)), place.reaches(i, h, t))
                  << place.what << ": " << i << ", head " << h << ", query " << t << " of "
                  << tokens << ", " << keys << " keys";
            }
          }
        }
      }
    }
    place.value = before;
  }
}

/// Behind a mask a NaN may or may not reach a result; if not, the result is the same as without it.
/// It does reach the results of queries that see it. Query 0 sees the first keys only.
TEST_P(AttentionOnTheCpu, MaskedNaNMayBeSkipped) {
  if (trait(GetParam()).block_elements != 1) return;  // has no way to say so
  constexpr std::int64_t kKeys = 900;
  constexpr std::int64_t kSeen = 40;
  for (std::int64_t n = kSeen; n < kMostKeys; ++n) {
    mask_.at(n, 0) = -std::numeric_limits<double>::infinity();
  }
  for (const std::int64_t tokens : {1, 2, 50}) {
    const RefTensor clean = attend(tokens, kKeys, false);
    for (RefTensor* hidden : {&k_, &v_}) {
      // In a block that query 0 sees in part, and far beyond.
      for (const std::int64_t key : {kSeen, kKeys - 1}) {
        double& value = hidden->at(3, 1, key);
        const double before = std::exchange(value, std::numeric_limits<double>::quiet_NaN());
        const RefTensor y = attend(tokens, kKeys, false);
        value = before;
        for (std::int64_t t = 0; t < tokens; ++t) {
          for (std::int64_t h = 0; h < kHeads; ++h) {
            for (std::int64_t i = 0; i < kSize; ++i) {
              const double each = y.at(i, h, t);
              const bool hangs = h / (kHeads / kKeyHeads) == 1 && (hidden == &k_ || i == 3);
              if (hangs && t > 0) {
                ASSERT_TRUE(std::isnan(each)) << each << ", head " << h << ", query " << t;
              } else if (!hangs || !std::isnan(each)) {
                ASSERT_EQ(each, clean.at(i, h, t)) << "head " << h << ", query " << t;
              }
            }
          }
        }
      }
    }
  }
}

/// A query that sees no key gives 0, or NaN if it has one.
TEST_P(AttentionOnTheCpu, NaNInAFullyMaskedQueryMayBeSkipped) {
  for (std::int64_t n = 0; n < kMostKeys; ++n) {
    mask_.at(n, 0) = -std::numeric_limits<double>::infinity();
  }
  sinks_.at(1) = -std::numeric_limits<double>::infinity();
  q_.at(3, 1, 0) = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t tokens : {1, 50}) {
    const RefTensor y = attend(tokens, kMostKeys, false);
    for (std::int64_t i = 0; i < kSize; ++i) {
      const double each = y.at(i, 1, 0);
      EXPECT_TRUE(each == 0 || std::isnan(each)) << each;
      EXPECT_EQ(y.at(i, 2, 0), 0) << "a query that is a number";
    }
  }
}

/// A NaN is kept where there are no sinks, and no mask; and in softmax, and in the plain
/// references.
TEST(AttentionWithoutSinks, PropagatesNaN) {
  const auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  for (const std::int64_t keys : {1, 40, 900}) {
    GraphBuilder g;
    const auto q = g.input("q", *make_tensor(DType::kF32, {8, 1, 2}));
    const auto k = g.input("k", *make_tensor(DType::kF32, {8, 1, keys}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {keys, 2}));
    const auto y = attention(g, q, k, k);
    const auto z = softmax(g, x);
    ASSERT_TRUE(g.output(y, "y"));
    ASSERT_TRUE(g.output(z, "z"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    std::vector<RefTensor> leaves(graph->size());
    leaves[q->id] = make_values({.sizes = {8, 1, 2, 1}}, 1);
    leaves[k->id] = make_values({.sizes = {8, 1, keys, 1}}, 2);
    leaves[k->id].at(5, 0, keys / 2) = std::numeric_limits<double>::quiet_NaN();
    leaves[x->id] = make_values({.sizes = {keys, 2, 1, 1}}, 3);
    leaves[x->id].at(keys / 2, 0) = leaves[x->id].at(keys / 2, 1) =
        std::numeric_limits<double>::quiet_NaN();
    const auto expected = reference_run(*graph, leaves);
    ASSERT_TRUE(expected) << expected.error().message();
    const auto run = GraphRun::create(
        graph, *devices, {{q->id, leaves[q->id]}, {k->id, leaves[k->id]}, {x->id, leaves[x->id]}});
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().run());
    for (const auto& result : {y, z}) {
      const auto found = (*run)->output(result->id);
      ASSERT_TRUE(found);
      for (const double value : found->data) {
        EXPECT_TRUE(std::isnan(value)) << value << ", " << keys << " keys";
      }
      for (const double value : (*expected)[result->id].data) {
        EXPECT_TRUE(std::isnan(value)) << "plain reference: " << value << ", " << keys << " keys";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionOnTheCpu, testing::ValuesIn(kCacheTypes),
                         [](const auto& each) { return std::string(to_string(each.param)); });

}  // namespace
}  // namespace shunt::test::attention_test
