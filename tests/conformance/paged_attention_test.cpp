// Paged attention: a token's result depends on nothing but its own sequence, to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <tuple>

#include "graph/reference.h"
#include "ops/common/cache_types.h"
#include "shunt/ops.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "support/tested_devices.h"

namespace shunt::test::paged_attention_test {
namespace {

constexpr std::int64_t kHeads = 6;
constexpr std::int64_t kKeyHeads = 2;
constexpr std::int64_t kSize = 32;
constexpr std::int64_t kRows = 3000;
constexpr std::int64_t kMostTokens = 120;

/// Tokens of a sequence: numbers of rows of the test's q, and the blocks of its keys.
struct SequenceOf {
  std::vector<std::int64_t> tokens;
  std::int64_t keys = 0;
  std::vector<std::int64_t> blocks;
};

class PagedAttentionOn : public testing::TestWithParam<std::tuple<std::string_view, DType>> {
 protected:
  void SetUp() override { use_threads(3); }

  void use_threads(int threads) {
    tested_.reset();
    tested_.emplace(std::get<0>(GetParam()), threads);
    if (tested_->list().empty()) GTEST_SKIP() << "the build lacks the device";
  }
  static DType type() { return std::get<1>(GetParam()); }

  /// [size, heads, tokens of all sequences]; the error of the run if it fails.
  Result<RefTensor> attend(const std::vector<SequenceOf>& sequences) {
    std::vector<std::int64_t> tokens;
    RefTensor columns({3, static_cast<std::int64_t>(sequences.size()), 1, 1});
    std::vector<double> table;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      const auto column = static_cast<std::int64_t>(s);
      tokens.insert(tokens.end(), sequences[s].tokens.begin(), sequences[s].tokens.end());
      columns.at(0, column) = static_cast<double>(tokens.size());
      columns.at(1, column) = static_cast<double>(sequences[s].keys);
      columns.at(2, column) = static_cast<double>(table.size());
      for (const std::int64_t block : sequences[s].blocks)
        table.push_back(static_cast<double>(block));
    }
    RefTensor blocks({static_cast<std::int64_t>(table.size()), 1, 1, 1});
    blocks.data = table;
    return attend(tokens, columns, blocks);
  }

  Result<RefTensor> attend(const std::vector<std::int64_t>& tokens, const RefTensor& sequences,
                           const RefTensor& table) {
    RefTensor q({kSize, kHeads, static_cast<std::int64_t>(tokens.size()), 1});
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const auto to = static_cast<std::int64_t>(t);
      for (std::int64_t h = 0; h < kHeads; ++h) {
        for (std::int64_t i = 0; i < kSize; ++i) q.at(i, h, to) = q_.at(i, h, tokens[t]);
      }
    }
    GraphBuilder g;
    const auto input = [&](DType type, const Sizes& sizes) {
      return g.input("", *make_tensor(type, {sizes[0], sizes[1], sizes[2], sizes[3]}));
    };
    const auto of_q = input(DType::kF32, q.sizes);
    const auto of_k = input(type(), k_.sizes);
    auto of_v = latent_ > 0 ? view(g, of_k, {}, {latent_, kKeyHeads, kRows, 1})
                            : Result<Value>(input(type(), v_.sizes));
    const auto of_sequences = input(DType::kI32, sequences.sizes);
    const auto of_table = input(DType::kI32, table.sizes);
    const auto of_sinks = input(DType::kF32, sinks_.sizes);
    SHUNT_ASSIGN(const Value y, paged_attention(g, of_q, of_k, of_v, of_sequences, of_table,
                                                params_, absent(), of_sinks));
    SHUNT_TRY(g.output(y, "y"));
    SHUNT_ASSIGN(Graph built, std::move(g).build());
    const auto graph = std::make_shared<const Graph>(std::move(built));
    SHUNT_ASSIGN(auto run, GraphRun::create(graph, tested_->list(), {}, {.by_ability = true}));
    SHUNT_TRY(run->set_inputs({{of_q->id, q},
                               {of_k->id, k_},
                               {of_sequences->id, sequences},
                               {of_table->id, table},
                               {of_sinks->id, sinks_}}));
    if (latent_ == 0) SHUNT_TRY(run->set_inputs({{of_v->id, v_}}));
    SHUNT_TRY(run->plan().run());
    return run->output(y.id);
  }

  /// Sequences with tokens of their own, in scattered blocks of their own.
  std::vector<SequenceOf> scattered(
      std::initializer_list<std::pair<std::int64_t, std::int64_t>> tokens_and_keys) const {
    std::vector<std::int64_t> free(static_cast<std::size_t>(kRows / params_.block));
    for (std::size_t i = 0; i < free.size(); ++i) free[i] = static_cast<std::int64_t>(i);
    std::shuffle(free.begin(), free.end(), std::mt19937(5));
    std::vector<SequenceOf> made;
    std::int64_t token = 0;
    for (const auto& [tokens, keys] : tokens_and_keys) {
      SequenceOf& sequence = made.emplace_back();
      for (std::int64_t i = 0; i < tokens; ++i) sequence.tokens.push_back(token++);
      sequence.keys = keys;
      for (std::int64_t i = 0; i < keys; i += params_.block) {
        sequence.blocks.push_back(free.back());
        free.pop_back();
      }
    }
    return made;
  }

  static std::vector<double> token_of(const RefTensor& all, std::int64_t t) {
    const auto first = all.data.begin() + t * kSize * kHeads;
    return {first, first + kSize * kHeads};
  }

  std::optional<TestedDevices> tested_;
  PagedAttentionParams params_ = {.scale = 0.2F, .softcap = 30, .block = 64};
  std::int64_t latent_ = 0;  ///< above 0: v is a view of so many first elements of k
  RefTensor q_ = make_values({.sizes = {kSize, kHeads, kMostTokens, 1}}, 1);
  RefTensor k_ = make_values({.sizes = {kSize, kKeyHeads, kRows, 1}}, 2);
  RefTensor v_ = make_values({.sizes = {kSize, kKeyHeads, kRows, 1}}, 3);
  RefTensor sinks_ = make_values({.sizes = {kHeads, 1, 1, 1}}, 5);
};

/// One token alone, with its keys as they were when it was computed.
SequenceOf alone(const SequenceOf& sequence, std::size_t token) {
  SequenceOf one = sequence;
  one.tokens = {sequence.tokens[token]};
  one.keys = sequence.keys - std::ssize(sequence.tokens) + static_cast<std::int64_t>(token) + 1;
  return one;
}

TEST_P(PagedAttentionOn, ResultOfATokenDoesNotDependOnOthers) {
  for (const auto& [span, window] :
       {std::pair(AttentionSpan::kCausal, 0), std::pair(AttentionSpan::kSlidingWindow, 270),
        std::pair(AttentionSpan::kChunked, 200)}) {
    params_.span = span;
    params_.window = window;
    // Several stretches of 256 keys; units of many tokens, of few, and single ones.
    const auto sequences = scattered({{1, 900}, {70, 130}, {3, 515}, {1, 1}, {30, 300}, {1, 64}});
    for (const int threads : {1, 3}) {
      if (threads > 1 && std::get<0>(GetParam()) != "cpu0") break;
      use_threads(threads);
      const auto all = attend(sequences);
      ASSERT_TRUE(all) << all.error().message();
      std::int64_t t = 0;
      for (const SequenceOf& sequence : sequences) {
        for (std::size_t i = 0; i < sequence.tokens.size(); ++i, ++t) {
          if (i % 7 != 0 && i + 1 != sequence.tokens.size()) continue;
          const auto one = attend({alone(sequence, i)});
          ASSERT_TRUE(one) << one.error().message();
          EXPECT_EQ(token_of(*one, 0), token_of(*all, t)) << to_string(span) << ", token " << t;
        }
      }
    }
  }
}

TEST_P(PagedAttentionOn, EqualBlocksOfOtherRowsGiveTheSameBits) {
  const auto sequences = scattered({{2, 300}});
  const auto expected = attend(sequences);
  ASSERT_TRUE(expected) << expected.error().message();
  // The same keys in order, in the last rows.
  SequenceOf moved = sequences[0];
  const std::int64_t first = kRows / params_.block - std::ssize(moved.blocks);
  for (auto [to, from] : {std::pair(&k_, k_), std::pair(&v_, v_)}) {
    for (std::size_t b = 0; b < moved.blocks.size(); ++b) {
      const std::int64_t row = sequences[0].blocks[b] * params_.block;
      const std::int64_t new_row = (first + static_cast<std::int64_t>(b)) * params_.block;
      for (std::int64_t i = 0; i < params_.block * kSize * kKeyHeads; ++i) {
        to->data[static_cast<std::size_t>(new_row * kSize * kKeyHeads + i)] =
            from.data[static_cast<std::size_t>(row * kSize * kKeyHeads + i)];
      }
    }
  }
  for (std::size_t b = 0; b < moved.blocks.size(); ++b)
    moved.blocks[b] = first + static_cast<std::int64_t>(b);
  const auto found = attend({moved});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->data, expected->data);
}

/// Latent attention: values are the first elements of keys.
TEST_P(PagedAttentionOn, ValuesMayBeAPartOfTheKeys) {
  const auto sequences = scattered({{2, 300}, {5, 20}, {1, 1}});
  const std::int64_t size = trait(type()).block_elements == 1 ? kSize / 2 : kSize;
  v_ = RefTensor({size, kKeyHeads, kRows, 1});
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t h = 0; h < kKeyHeads; ++h) {
      for (std::int64_t i = 0; i < size; ++i) v_.at(i, h, row) = k_.at(i, h, row);
    }
  }
  const auto expected = attend(sequences);
  ASSERT_TRUE(expected) << expected.error().message();
  latent_ = size;
  const auto found = attend(sequences);
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->sizes, expected->sizes);
  for (std::size_t i = 0; i < found->data.size(); ++i)
    ASSERT_NEAR(found->data[i], expected->data[i], 1e-5) << i;
}

/// NaN in rows that no token sees: of other blocks, after a sequence's end, before its window.
TEST_P(PagedAttentionOn, NaNOutsideOfTheSeenKeysIsNotRead) {
  if (trait(type()).block_elements != 1) return;  // blocks have no NaN
  params_.span = AttentionSpan::kSlidingWindow;
  params_.window = 64;
  const auto sequences = scattered({{2, 300}, {1, 20}});
  const auto expected = attend(sequences);
  ASSERT_TRUE(expected) << expected.error().message();
  // A window may begin inside a block. The kernel reads that block from its start to the last key.
  std::vector<bool> is_read(kRows);
  for (const SequenceOf& sequence : sequences) {
    const std::int64_t start =
        std::max<std::int64_t>(0, sequence.keys - std::ssize(sequence.tokens) + 1 - params_.window);
    for (std::int64_t n = start / params_.block * params_.block; n < sequence.keys; ++n) {
      const std::int64_t block = sequence.blocks[static_cast<std::size_t>(n / params_.block)];
      is_read[static_cast<std::size_t>(block * params_.block + n % params_.block)] = true;
    }
  }
  for (RefTensor* tensor : {&k_, &v_}) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      if (is_read[static_cast<std::size_t>(row)]) continue;
      for (std::int64_t i = 0; i < kSize; ++i)
        tensor->at(i, row % kKeyHeads, row) = std::numeric_limits<double>::quiet_NaN();
    }
  }
  const auto found = attend(sequences);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->data, expected->data);
}

TEST_P(PagedAttentionOn, ValuesThatAreInvalidFailTheRun) {
  const std::vector<std::int64_t> tokens = {0, 1, 2};
  const auto fails = [&](std::vector<double> sequences, std::vector<double> table) {
    RefTensor columns({3, std::ssize(sequences) / 3, 1, 1});
    columns.data = std::move(sequences);
    RefTensor blocks({std::ssize(table), 1, 1, 1});
    blocks.data = std::move(table);
    const auto result = attend(tokens, columns, blocks);
    if (result) return std::string("no error");
    EXPECT_THAT(result.error().message(), testing::HasSubstr("paged_attention"));
    return std::string(result.error().message().find("an index is out of range") !=
                               std::string::npos
                           ? "out of range"
                           : result.error().message());
  };
  const std::string ok = "no error";
  const std::string bad = "out of range";
  const double last = kRows / 64;  // the number of the last block, which has 56 rows
  EXPECT_EQ(fails({2, 70, 0, 3, 9, 2}, {0, 5, 1}), ok);
  EXPECT_EQ(fails({2, 70, 0, 3, 9, 2}, {5, 5, 1}), ok) << "a block twice is read twice";
  EXPECT_EQ(fails({2, 70, 0, 1, 9, 2}, {0, 5, 1}), bad) << "ends decrease";
  EXPECT_EQ(fails({-1, 70, 0, 3, 9, 2}, {0, 5, 1}), bad) << "an end below 0";
  EXPECT_EQ(fails({2, 70, 0, 4, 9, 2}, {0, 5, 1}), bad) << "an end beyond the tokens";
  EXPECT_EQ(fails({2, 1, 0, 3, 9, 2}, {0, 5, 1}), bad) << "fewer keys than tokens";
  EXPECT_EQ(fails({2, -5, 0, 3, 9, 2}, {0, 5, 1}), bad) << "keys below 0";
  EXPECT_EQ(fails({2, 70, 2, 3, 9, 2}, {0, 5, 1}), bad) << "a table that is too short";
  EXPECT_EQ(fails({2, 70, -1, 3, 9, 2}, {0, 5, 1}), bad) << "an entry below 0";
  EXPECT_EQ(fails({2, 70, 0, 3, 9, 3}, {0, 5, 1}), bad) << "an entry beyond the table";
  EXPECT_EQ(fails({2, 70, 0, 3, 9, 2}, {0, -5, 1}), bad) << "a block below 0";
  EXPECT_EQ(fails({2, 70, 0, 3, 9, 2}, {0, last + 1, 1}), bad) << "a block beyond the rows";
  EXPECT_EQ(fails({2, 64 + 56, 0, 3, 9, 2}, {0, last, 1}), ok);
  EXPECT_EQ(fails({2, 64 + 57, 0, 3, 9, 2}, {0, last, 1}), bad) << "a row beyond the last";
  EXPECT_EQ(fails({2, 2e9, 0, 3, 9, 2}, {0, 5, 1}), bad) << "more keys than the table has";
  EXPECT_EQ(fails({2, 70, 2e9, 3, 9, 2}, {0, 5, 1}), bad) << "an entry far beyond the table";
  EXPECT_EQ(fails({2, 70, 0, 3, 9, 2}, {0, 2e9, 1}), bad) << "a block far beyond the rows";
}

std::string name_of(const testing::TestParamInfo<std::tuple<std::string_view, DType>>& info) {
  const auto& [device, type] = info.param;
  return std::string(to_string(type)) + "_" + std::string(device);
}
INSTANTIATE_TEST_SUITE_P(CacheTypes, PagedAttentionOn,
                         testing::Combine(testing::Values("cpu0"), testing::ValuesIn(kCacheTypes)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(OnTwins, PagedAttentionOn,
                         testing::Combine(testing::Values("cuda0", "cann0"),
                                          testing::Values(DType::kF16, DType::kQ8_0)),
                         name_of);

}  // namespace
}  // namespace shunt::test::paged_attention_test
