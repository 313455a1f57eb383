// Which blocks of the KV cache sequences get, against a plain account of the content of all rows.
#include "engine/session/block_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "base/ceil_div.h"
#include "engine/load/cache_rows.h"
#include "engine/session/sequence_replacement.h"
#include "support/sanitized.h"

namespace shunt::test::engine_block_pool_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kBlock = BlockPool::kBlock;

BlockPoolOptions options_of(std::int64_t sequences, std::int64_t context, bool reuse = false) {
  return {.sequences = sequences,
          .context = context,
          .blocks = ceil_div(cache_rows_needed(context, sequences), kBlock),
          .reuse = reuse};
}
BlockPool pool_of(std::int64_t sequences, std::int64_t context, bool reuse = false) {
  return BlockPool(options_of(sequences, context, reuse));
}

/// `count` tokens, different for each `kind`.
Tokens tokens_of(std::int64_t count, std::int32_t kind = 0) {
  Tokens tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 1000 * kind);
  return tokens;
}

std::vector<std::int64_t> blocks_of(const BlockPool& pool, std::int64_t sequence) {
  const auto blocks = pool.blocks(sequence);
  return {blocks.begin(), blocks.end()};
}

/// Appends tokens and computes them.
void compute(BlockPool& pool, std::int64_t sequence, const Tokens& tokens) {
  ASSERT_TRUE(pool.append(sequence, tokens, true));
  while (!pool.pending().empty()) pool.mark_copied();
  pool.mark_cached(sequence, pool.length(sequence));
}

TEST(BlockPool, TokenBeyondABlockAllocatesAnother) {
  BlockPool pool = pool_of(2, 300);
  compute(pool, 0, tokens_of(kBlock));
  compute(pool, 1, tokens_of(1));
  compute(pool, 0, tokens_of(1));
  EXPECT_THAT(blocks_of(pool, 0), ElementsAre(0, 2));
  EXPECT_THAT(blocks_of(pool, 1), ElementsAre(1));
  EXPECT_EQ(pool.taken(), kBlock + 2);
}

TEST(BlockPool, AllocatesTheLowestFreeBlockFirst) {
  BlockPool pool = pool_of(3, 600);
  for (const std::int64_t sequence : {0, 1, 2}) compute(pool, sequence, tokens_of(2 * kBlock));
  pool.truncate(2, 1);           // gives back 5
  pool.truncate(0, kBlock - 1);  // and 1
  pool.truncate(1, 0);           // and 2, 3
  compute(pool, 2, tokens_of(4 * kBlock - 1));
  EXPECT_THAT(blocks_of(pool, 0), ElementsAre(0));
  EXPECT_THAT(blocks_of(pool, 2), ElementsAre(4, 1, 2, 3));
}

TEST(BlockPool, TokensBeyondTheContextAreAnError) {
  BlockPool pool = pool_of(2, 100);
  compute(pool, 0, tokens_of(70));
  EXPECT_TRUE(pool.append(1, tokens_of(30), true));
  EXPECT_FALSE(pool.append(1, tokens_of(1), true));
  pool.truncate(1, 30);
  EXPECT_EQ(pool.taken(), 100);
  const Status far = pool.append(1, tokens_of(1000000), true);
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code(), ErrorCode::kInvalidArgument);
}

TEST(BlockPool, ForkSharesBlocksUntilOneIsWritten) {
  BlockPool pool = pool_of(3, 600);
  compute(pool, 0, tokens_of(100));
  pool.fork(0, 1, 100);
  pool.fork(0, 2, 64);
  EXPECT_EQ(pool.taken(), 100);
  EXPECT_EQ(blocks_of(pool, 1), blocks_of(pool, 0));
  EXPECT_EQ(pool.cached(1), 100);
  EXPECT_EQ(pool.cached(2), 64);
  ASSERT_TRUE(pool.append(1, tokens_of(1, 1), true));
  EXPECT_THAT(pool.pending(), ElementsAre(BlockCopy{1, 2, 36}));
  EXPECT_EQ(pool.cached(1), 64) << "not copied yet";
  pool.mark_copied();
  EXPECT_EQ(pool.cached(1), 100);
  EXPECT_THAT(blocks_of(pool, 0), ElementsAre(0, 1));
  EXPECT_THAT(blocks_of(pool, 1), ElementsAre(0, 2));
  // The first one has its block to itself again.
  ASSERT_TRUE(pool.append(0, tokens_of(1, 2), true));
  EXPECT_TRUE(pool.pending().empty());
  EXPECT_THAT(blocks_of(pool, 0), ElementsAre(0, 1));
}

/// The rows after the fork are of the other sequence.
TEST(BlockPool, RowsOfAForkedSequenceThatEndedAreComputedAgain) {
  BlockPool pool = pool_of(2, 300);
  compute(pool, 0, tokens_of(64));
  pool.fork(0, 1, 40);
  pool.truncate(0, 0);
  ASSERT_TRUE(pool.append(1, tokens_of(5, 3), true));
  EXPECT_TRUE(pool.pending().empty());
  EXPECT_EQ(pool.cached(1), 40);
}

TEST(BlockPool, CopyToABlockThatWasFreedIsNotMade) {
  BlockPool pool = pool_of(3, 300);
  compute(pool, 0, tokens_of(40));
  pool.fork(0, 1, 40);
  ASSERT_TRUE(pool.append(1, tokens_of(1, 1), true));
  ASSERT_EQ(pool.pending().size(), 1U);
  const std::int64_t freed = pool.pending().front().to;
  pool.truncate(1, 0);
  ASSERT_TRUE(pool.append(2, tokens_of(40, 5), true));
  ASSERT_THAT(blocks_of(pool, 2), ElementsAre(freed));
  EXPECT_TRUE(pool.pending().empty());
  EXPECT_EQ(pool.cached(2), 0);
}

TEST(BlockPool, ContentChangesOnlyWhenTokensGo) {
  BlockPool pool = pool_of(2, 300);
  compute(pool, 0, tokens_of(40));
  const std::int64_t block = pool.blocks(0)[0];
  const std::uint64_t content = pool.content(block);
  compute(pool, 0, tokens_of(10, 40));
  EXPECT_EQ(pool.content(block), content);
  EXPECT_EQ(pool.former(block).number, 0U);
  pool.truncate(0, 45);
  const std::uint64_t after = pool.content(block);
  EXPECT_NE(after, content);
  EXPECT_EQ(pool.former(block).number, content);
  EXPECT_EQ(pool.former(block).rows, 45);
  compute(pool, 0, tokens_of(30, 45));
  EXPECT_EQ(pool.content(block), after);
  pool.truncate(0, 0);
  EXPECT_NE(pool.content(block), after);
  EXPECT_EQ(pool.former(block).number, 0U);
}

TEST(BlockPool, ContentsThatWereGoneBackFromKeepTheirNumbers) {
  BlockPool pool = pool_of(1, 300);
  compute(pool, 0, tokens_of(40));
  const std::int64_t block = pool.blocks(0)[0];
  const std::uint64_t before = pool.content(block);
  BlockPool snapshot = pool.snapshot();
  pool.truncate(0, 10);
  const std::uint64_t between = pool.content(block);
  pool.go_back(std::move(snapshot));
  EXPECT_EQ(pool.content(block), before);
  pool.truncate(0, 20);
  EXPECT_NE(pool.content(block), before);
  EXPECT_NE(pool.content(block), between);
}

TEST(BlockPool, FindsWholeBlocksOfTheSamePrefix) {
  BlockPool pool = pool_of(4, 2000, true);
  compute(pool, 0, tokens_of(200));
  // Three whole blocks; then other tokens.
  Tokens other = tokens_of(250);
  other[199] = -5;
  ASSERT_TRUE(pool.append(1, other, true));
  EXPECT_EQ(pool.cached(1), 192);
  EXPECT_EQ(pool.taken(), 200 + 250 - 192);
  // The same tokens after others are another prefix.
  Tokens shifted = tokens_of(64, 7);
  const Tokens same = tokens_of(200);
  shifted.insert(shifted.end(), same.begin(), same.end());
  ASSERT_TRUE(pool.append(2, shifted, true));
  EXPECT_EQ(pool.cached(2), 0);
  // The last token is always computed.
  ASSERT_TRUE(pool.append(3, tokens_of(128), true));
  EXPECT_EQ(pool.cached(3), 64);
}

TEST(BlockPool, WithoutReuseNothingIsFound) {
  BlockPool pool = pool_of(3, 2000, false);
  compute(pool, 0, tokens_of(200));
  ASSERT_TRUE(pool.append(1, tokens_of(200), true));
  EXPECT_EQ(pool.cached(1), 0);
  BlockPool reuse = pool_of(3, 2000, true);
  compute(reuse, 0, tokens_of(200));
  ASSERT_TRUE(reuse.append(1, tokens_of(200), false));
  EXPECT_EQ(reuse.cached(1), 0);
}

TEST(BlockPool, FindsAPrefixWhoseOwnerIsGoneUntilRoomIsNeeded) {
  BlockPool pool = pool_of(2, 6 * kBlock, true);
  compute(pool, 0, tokens_of(3 * kBlock));
  pool.truncate(0, 0);
  EXPECT_EQ(pool.taken(), 0);
  EXPECT_EQ(pool.kept(), 3);
  ASSERT_TRUE(pool.append(1, tokens_of(3 * kBlock), true));
  EXPECT_EQ(pool.cached(1), 2 * kBlock) << "the last token is computed";
  pool.truncate(1, 0);
  // Others need the room: the end of the prefix goes first.
  compute(pool, 0, tokens_of(5 * kBlock, 9));
  pool.truncate(0, 0);
  ASSERT_TRUE(pool.append(1, tokens_of(3 * kBlock), true));
  EXPECT_LE(pool.cached(1), 2 * kBlock);
  EXPECT_EQ(pool.cached(1) % kBlock, 0);
}

TEST(BlockPool, PrefixOfARunningOwnerIsFoundBeforeItIsComputed) {
  BlockPool pool = pool_of(2, 1000, true);
  ASSERT_TRUE(pool.append(0, tokens_of(200), true));
  ASSERT_TRUE(pool.append(1, tokens_of(200), true));
  EXPECT_EQ(pool.taken(), 200 + 8);
  EXPECT_EQ(pool.cached(1), 0);
  EXPECT_TRUE(pool.is_shared(pool.blocks(1)[0]));
  pool.mark_cached(0, 100);
  EXPECT_EQ(pool.cached(1), 100);
  pool.mark_cached(0, 200);
  EXPECT_EQ(pool.cached(1), 192);
}

TEST(BlockPool, EditedConversationKeepsItsFormerPrefix) {
  BlockPool pool = pool_of(2, 1000, true);
  compute(pool, 0, tokens_of(200));
  pool.truncate(0, 100);
  compute(pool, 0, tokens_of(100, 3));
  ASSERT_TRUE(pool.append(1, tokens_of(200), true));
  EXPECT_EQ(pool.cached(1), 192) << "the edited block was copied";
}

/// The block that was edited is given up, as there is no other one left.
TEST(BlockPool, EditedConversationMayFillTheContext) {
  BlockPool pool = pool_of(1, 2 * kBlock, true);
  compute(pool, 0, tokens_of(64));
  pool.truncate(0, 60);
  ASSERT_TRUE(pool.append(0, tokens_of(68, 3), true));
  EXPECT_EQ(pool.taken(), 2 * kBlock);
  EXPECT_THAT(pool.pending(), ElementsAre(BlockCopy{0, 1, 60}));
  EXPECT_THAT(blocks_of(pool, 0), ElementsAre(1, 0));
  pool.mark_copied();
  EXPECT_EQ(pool.cached(0), 60);
}

TEST(BlockPool, AppendThatDoesNotFitChangesNothing) {
  BlockPool pool = pool_of(2, 3 * kBlock, true);
  compute(pool, 0, tokens_of(100));
  pool.fork(0, 1, 100);
  const auto blocks = blocks_of(pool, 1);
  ASSERT_FALSE(pool.append(1, tokens_of(200, 2), true));
  EXPECT_EQ(blocks_of(pool, 1), blocks);
  EXPECT_EQ(pool.cached(1), 100);
  EXPECT_EQ(pool.taken(), 100);
  EXPECT_TRUE(pool.pending().empty());
}

TEST(BlockPool, ScopesDoNotFindEachOther) {
  BlockPool pool = pool_of(4, 2000, true);
  pool.set_scope(0, "alice");
  pool.set_scope(1, "bob");
  pool.set_scope(2, "alice");
  compute(pool, 0, tokens_of(200));
  ASSERT_TRUE(pool.append(1, tokens_of(200), true));
  EXPECT_EQ(pool.cached(1), 0);
  ASSERT_TRUE(pool.append(2, tokens_of(200), true));
  EXPECT_EQ(pool.cached(2), 192);
  ASSERT_TRUE(pool.append(3, tokens_of(200), true));
  EXPECT_EQ(pool.cached(3), 0);
}

TEST(BlockPool, CollidingHashesChangeNothing) {
  const auto cached = [](bool collide) {
    BlockPoolOptions options = {.sequences = 3, .context = 2000, .blocks = 40, .reuse = true};
    if (collide) options.hash = [](std::uint64_t, std::span<const std::int32_t>) { return 5ULL; };
    BlockPool pool(options);
    compute(pool, 0, tokens_of(300));
    compute(pool, 1, tokens_of(300, 1));
    Tokens mixed = tokens_of(300);
    std::copy_n(tokens_of(300, 1).begin() + 128, 100, mixed.begin() + 128);
    EXPECT_TRUE(pool.append(2, mixed, true));
    return pool.cached(2);
  };
  EXPECT_EQ(cached(true), 128);
  EXPECT_EQ(cached(false), 128);
}

/// The same operations on a pool with another hash, and on one whose hash always collides.
TEST(BlockPool, CollidingHashesChangeNoBlockOfRandomOperations) {
  constexpr std::int64_t kSequences = 5;
  BlockPoolOptions options = options_of(kSequences, 900, true);
  BlockPool pool(options);
  options.hash = [](std::uint64_t, std::span<const std::int32_t>) { return 5ULL; };
  BlockPool colliding(options);
  std::mt19937 random(5);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  std::int64_t found = 0;
  std::int64_t refused = 0;
  const auto operation = [&](BlockPool& each, std::mt19937 numbers) -> std::int64_t {
    const auto next = [&](std::int64_t n) { return static_cast<std::int64_t>(numbers() % n); };
    const std::int64_t one = next(kSequences);
    const std::int64_t length = each.length(one);
    const Tokens more = tokens_of(1 + next(250), static_cast<std::int32_t>(next(3)));
    switch (next(6)) {
      case 0:
        each.truncate(one, next(length + 1));
        return 0;
      case 1:
        each.fork(one, next(kSequences), next(length + 1));
        return 0;
      case 2:
        each.truncate(one, 0);
        each.set_scope(one, next(2) == 0 ? "a" : "b");
        return each.append_known(one, more);
      case 3:
        while (!each.pending().empty()) each.mark_copied();
        each.mark_cached(one, length);
        return 0;
      default:
        return each.append(one, more, true) ? 0 : -1;
    }
  };
  for (int step = 0; step < 3000; ++step) {
    const std::mt19937 numbers(static_cast<unsigned>(below(1 << 30)));
    const std::int64_t result = operation(pool, numbers);
    ASSERT_EQ(operation(colliding, numbers), result) << step;
    for (std::int64_t s = 0; s < kSequences; ++s) {
      ASSERT_TRUE(std::ranges::equal(colliding.tokens(s), pool.tokens(s))) << step;
      ASSERT_EQ(blocks_of(colliding, s), blocks_of(pool, s)) << step;
      ASSERT_EQ(colliding.cached(s), pool.cached(s)) << step;
    }
    ASSERT_EQ(colliding.taken(), pool.taken()) << step;
    ASSERT_EQ(colliding.kept(), pool.kept()) << step;
    if (result > 0) ++found;
    if (result < 0) ++refused;
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(refused, 50);
}

TEST(BlockPool, LostContentIsComputedAgain) {
  BlockPool pool = pool_of(3, 2000, true);
  compute(pool, 0, tokens_of(200));
  pool.fork(0, 1, 150);
  compute(pool, 2, tokens_of(100, 4));
  pool.truncate(2, 0);
  ASSERT_TRUE(pool.append(1, tokens_of(1, 5), true));
  ASSERT_FALSE(pool.pending().empty());
  pool.lose_content();
  EXPECT_TRUE(pool.pending().empty());
  EXPECT_EQ(pool.kept(), 0);
  EXPECT_EQ(pool.cached(0), 0);
  EXPECT_EQ(pool.cached(1), 0);
  pool.mark_cached(1, 151);
  EXPECT_EQ(pool.cached(0), 128) << "the blocks that they share";
}

TEST(BlockPool, LostRowsOfABlockAreComputedAgain) {
  BlockPool pool = pool_of(3, 2000, true);
  compute(pool, 0, tokens_of(200));
  pool.fork(0, 1, 150);
  compute(pool, 2, tokens_of(100, 4));
  const std::int64_t kept = pool.blocks(2)[0];
  const std::int64_t freed = pool.blocks(2)[1];
  pool.truncate(2, 0);
  ASSERT_EQ(pool.kept(), 1);
  pool.lose_rows(pool.blocks(0)[1], 10);
  EXPECT_EQ(pool.cached(0), 74);
  EXPECT_EQ(pool.cached(1), 74);
  pool.lose_rows(freed, 0);  // it has no content
  EXPECT_EQ(pool.kept(), 1);
  pool.lose_rows(kept, 63);
  EXPECT_EQ(pool.kept(), 0);
  ASSERT_TRUE(pool.append(2, tokens_of(100, 4), true));
  EXPECT_EQ(pool.cached(2), 0);
}

TEST(SequenceReplacement, NamesTheRowsThatBlocksLack) {
  BlockPool pool = pool_of(2, 2000, true);
  compute(pool, 0, tokens_of(100));
  SequenceReplacement replacement(pool, 1);
  ASSERT_TRUE(replacement.set_tokens(tokens_of(200), 150));
  EXPECT_EQ(blocks_of(pool, 1)[0], blocks_of(pool, 0)[0]);
  const auto missing = replacement.missing();
  ASSERT_EQ(missing.size(), 2U);
  EXPECT_EQ(missing[0].block, pool.blocks(1)[1]);
  EXPECT_EQ(missing[0].first, 0);
  EXPECT_EQ(missing[0].count, 64);
  EXPECT_EQ(missing[0].token, 64);
  EXPECT_EQ(missing[1].block, pool.blocks(1)[2]);
  EXPECT_EQ(missing[1].count, 22);
  EXPECT_EQ(missing[1].token, 128);
  replacement.commit();
  EXPECT_EQ(pool.cached(1), 150);
  EXPECT_EQ(pool.length(1), 200);
}

TEST(SequenceReplacement, UndoLosesOnlyRowsThatWereToBeWritten) {
  BlockPool pool = pool_of(2, 300);
  compute(pool, 0, tokens_of(100));
  compute(pool, 1, tokens_of(130, 1));
  {
    SequenceReplacement replacement(pool, 1);
    ASSERT_FALSE(replacement.set_tokens(tokens_of(201, 2), 201)) << "the context has 200 left";
  }
  EXPECT_EQ(pool.cached(1), 130);
  EXPECT_TRUE(std::ranges::equal(pool.tokens(1), tokens_of(130, 1)));
  {
    SequenceReplacement replacement(pool, 1);
    ASSERT_TRUE(replacement.set_tokens(tokens_of(70, 2), 3));
  }
  EXPECT_EQ(pool.cached(1), 0) << "its first block was to be written";
  EXPECT_EQ(pool.cached(0), 100);
  EXPECT_TRUE(std::ranges::equal(pool.tokens(1), tokens_of(130, 1)));
}

struct PoolKind {
  const char* name = "";
  bool reuse = false;
  std::int64_t slots = 0;
  bool collides = false;
};

constexpr int kOperations = repetitions(10000);

/// Random operations. The account has the content of each row, of blocks and of slots: a
/// number for the scope, and all tokens up to its own.
class RandomOperations : public testing::TestWithParam<PoolKind> {};

TEST_P(RandomOperations, EveryCachedRowHasTheContentOfItsTokens) {
  constexpr std::int64_t kSequences = 5;
  constexpr std::int64_t kContext = 900;
  const PoolKind kind = GetParam();
  const std::int64_t blocks = ceil_div(cache_rows_needed(kContext, kSequences), kBlock);
  BlockPoolOptions options = {
      .sequences = kSequences, .context = kContext, .blocks = blocks, .reuse = kind.reuse};
  if (kind.collides)
    options.hash = [](std::uint64_t, std::span<const std::int32_t>) { return 5ULL; };
  BlockPool pool(options);
  if (kind.slots > 0) pool.set_host_slots(kind.slots);
  std::vector<Tokens> rows(static_cast<std::size_t>(blocks * kBlock));
  std::vector<Tokens> host_rows(static_cast<std::size_t>(kind.slots * kBlock));
  std::vector<Tokens> expected(kSequences);  // tokens
  std::vector<std::int32_t> scopes(kSequences);
  std::mt19937 random(11);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  std::int64_t shared = 0;
  std::int64_t refused = 0;
  std::int64_t kept = 0;
  std::int64_t replaced = 0;
  std::int64_t back_after_loss = 0;
  const auto row_of = [&](std::int64_t sequence, std::int64_t position) -> Tokens& {
    const std::int64_t block = pool.blocks(sequence)[static_cast<std::size_t>(position / kBlock)];
    return rows[static_cast<std::size_t>(block * kBlock + position % kBlock)];
  };
  const auto content_of = [&](std::int64_t sequence, const Tokens& tokens, std::int64_t position) {
    Tokens content = {-1000 - scopes[static_cast<std::size_t>(sequence)]};
    content.insert(content.end(), tokens.begin(), tokens.begin() + position + 1);
    return content;
  };
  const auto ends_of = [&](const BlockCopy& copy) {
    std::vector<Tokens>& from = copy.way == CopyWay::kFromHost ? host_rows : rows;
    std::vector<Tokens>& to = copy.way == CopyWay::kToHost ? host_rows : rows;
    return std::pair(from.begin() + copy.from * kBlock, to.begin() + copy.to * kBlock);
  };
  const auto copy_pending = [&] {
    while (!pool.pending().empty()) {
      const BlockCopy copy = pool.pending().front();
      const auto [from, to] = ends_of(copy);
      std::copy_n(from, copy.rows, to);
      pool.mark_copied();
    }
  };
  for (int step = 0; step < kOperations; ++step) {
    const std::int64_t one = below(kSequences);
    Tokens& tokens = expected[static_cast<std::size_t>(one)];
    const auto length = static_cast<std::int64_t>(tokens.size());
    switch (below(11)) {
      case 0:
      case 1:
      case 2: {  // tokens of a few kinds, so that prefixes are found
        Tokens more = tokens_of(1 + below(below(3) == 0 ? 400 : 90), 1);
        if (length > 0) {
          for (auto& token : more) token += static_cast<std::int32_t>(length + below(2) / 2);
        }
        if (below(4) == 0) more[static_cast<std::size_t>(below(std::ssize(more)))] = 7;
        if (pool.append(one, more, below(5) != 0)) {
          tokens.insert(tokens.end(), more.begin(), more.end());
        } else {
          pool.truncate(one, length);
          ++refused;
        }
        break;
      }
      case 3: {  // computes some tokens of one sequence
        copy_pending();
        const std::int64_t first = pool.cached(one);
        const std::int64_t end = first + below(length - first + 1);
        for (std::int64_t i = first; i < end; ++i) row_of(one, i) = content_of(one, tokens, i);
        pool.mark_cached(one, end);
        break;
      }
      case 4: {
        const std::int64_t shorter = below(4) == 0 ? 0 : below(length + 1);
        pool.truncate(one, shorter);
        tokens.resize(static_cast<std::size_t>(shorter));
        break;
      }
      case 5: {
        const std::int64_t other = below(kSequences);
        const std::int64_t shorter = below(2) == 0 ? length : below(length + 1);
        pool.fork(one, other, shorter);
        expected[static_cast<std::size_t>(other)] =
            Tokens(tokens.begin(), tokens.begin() + shorter);
        scopes[static_cast<std::size_t>(other)] = scopes[static_cast<std::size_t>(one)];
        break;
      }
      case 6:  // a failed step writes rows up to the next block that is in the cache
        copy_pending();
        for (std::int64_t i = pool.cached(one), first = i; i < length; ++i) {
          const std::int64_t block = pool.blocks(one)[static_cast<std::size_t>(i / kBlock)];
          if (i / kBlock > first / kBlock && pool.filled(block) > 0) break;
          row_of(one, i) = {-1};
        }
        break;
      case 7: {  // tokens whose first rows are known; some attempts fail while rows are written
        copy_pending();
        const Tokens more = tokens_of(1 + below(300), 1);
        const std::int64_t known = below(std::ssize(more) + 1);
        const bool fails = below(3) == 0;
        SequenceReplacement replacement(pool, one);
        if (!replacement.set_tokens(more, known)) break;
        copy_pending();
        for (const MissingRows& missing : replacement.missing()) {
          for (std::int64_t i = 0; i < missing.count; ++i) {
            Tokens& row =
                rows[static_cast<std::size_t>(missing.block * kBlock + missing.first + i)];
            row = content_of(one, more, missing.token + i);
            if (fails) row = {-3};
          }
        }
        if (fails) break;
        replacement.commit();
        tokens = more;
        ++replaced;
        break;
      }
      case 8:
        if (pool.pending().empty()) break;
        if (below(2) == 0) {  // some of the copies; the next one fails in the middle
          const auto count = below(std::ssize(pool.pending()));
          for (std::int64_t i = 0; i < count; ++i) {
            const auto [from, to] = ends_of(pool.pending().front());
            std::copy_n(from, pool.pending().front().rows, to);
            pool.mark_copied();
          }
          *ends_of(pool.pending().front()).second = {-4};
        }
        break;
      case 9: {  // known tokens only; now and then in another scope
        if (below(4) == 0) {
          pool.truncate(one, 0);
          tokens.clear();
          scopes[static_cast<std::size_t>(one)] = static_cast<std::int32_t>(below(2));
          pool.set_scope(one, scopes[static_cast<std::size_t>(one)] == 0 ? "" : "other");
        }
        Tokens more = tokens_of(1 + below(400), 1);
        for (auto& token : more) token += static_cast<std::int32_t>(tokens.size());
        const std::int64_t known = pool.append_known(one, more);
        tokens.insert(tokens.end(), more.begin(), more.begin() + known);
        break;
      }
      default:
        if (below(50) == 0) {
          pool.lose_content();
          for (Tokens& row : rows) row = {-2};
          back_after_loss += std::ssize(pool.pending());
        }
    }
    // No block is lost, or counted wrong.
    std::map<std::int64_t, std::int64_t> users;
    for (std::int64_t s = 0; s < kSequences; ++s) {
      const Tokens& own = expected[static_cast<std::size_t>(s)];
      ASSERT_TRUE(std::ranges::equal(pool.tokens(s), own)) << step;
      ASSERT_EQ(std::ssize(pool.blocks(s)), ceil_div(pool.length(s), kBlock)) << step;
      for (const std::int64_t block : pool.blocks(s)) ++users[block];
      const std::int64_t cached = pool.cached(s);
      ASSERT_LE(cached, pool.length(s)) << step;
      ASSERT_LE(cached, pool.promised(s)) << step;
      for (std::int64_t i = 0; i < cached; ++i) {
        ASSERT_EQ(row_of(s, i), content_of(s, own, i))
            << "step " << step << ", sequence " << s << ", token " << i;
      }
    }
    bool shares = false;
    for (std::int64_t block = 0; block < blocks; ++block) {
      ASSERT_EQ(pool.users(block), users[block]) << "step " << step << ", block " << block;
      shares = shares || pool.is_shared(block);
    }
    // Each row in use counts once.
    std::map<std::int64_t, std::int64_t> used;
    for (std::int64_t s = 0; s < kSequences; ++s) {
      for (std::int64_t i = 0; i < pool.length(s); ++i) {
        std::int64_t& most = used[pool.blocks(s)[static_cast<std::size_t>(i / kBlock)]];
        most = std::max(most, i % kBlock + 1);
      }
    }
    std::int64_t taken = 0;
    for (const auto& [block, most] : used) taken += most;
    ASSERT_EQ(pool.taken(), taken) << "step " << step;
    ASSERT_LE(taken, kContext);
    ASSERT_LE(std::ssize(users) -
                  std::ranges::count(users, 0, &decltype(users)::value_type::second) + pool.kept(),
              blocks);
    // Memory for pending copies is there from the start.
    ASSERT_LE(std::ssize(pool.pending()), 2 * blocks) << step;
    ASSERT_LE(pool.host().used(), kind.slots);
    shared += shares ? 1 : 0;
    kept += pool.kept() > 0 ? 1 : 0;
  }
  EXPECT_GT(shared, kOperations / 10);
  EXPECT_GT(refused, kOperations / 200);
  EXPECT_GT(replaced, kOperations / 50);
  EXPECT_EQ(kept > kOperations / 10, kind.reuse);
  EXPECT_EQ(pool.host_traffic().saved > kOperations / 200, kind.slots > 0)
      << pool.host_traffic().saved;
  EXPECT_EQ(pool.host_traffic().restored > kOperations / 200, kind.slots > 0)
      << pool.host_traffic().restored;
  EXPECT_EQ(back_after_loss > kOperations / 2000, kind.slots > 0) << back_after_loss;
}

INSTANTIATE_TEST_SUITE_P(BlockPool, RandomOperations,
                         testing::Values(PoolKind{"WithoutReuse", false, 0, false},
                                         PoolKind{"WithReuse", true, 0, false},
                                         PoolKind{"WithFewSlots", true, 3, false},
                                         PoolKind{"WithManySlots", true, 200, false},
                                         PoolKind{"WithCollisions", true, 20, true}),
                         [](const auto& kind) { return kind.param.name; });

/// The worst distribution of a context over sequences, found by trying all.
std::int64_t most_blocks(std::int64_t context, std::int64_t sequences) {
  std::vector<std::int64_t> most(static_cast<std::size_t>(context + 1));
  for (std::int64_t s = 0; s < sequences; ++s) {
    std::vector<std::int64_t> next = most;
    for (std::int64_t all = 1; all <= context; ++all) {
      for (std::int64_t own = 1; own <= all; ++own) {
        auto& best = next[static_cast<std::size_t>(all)];
        best = std::max(best, most[static_cast<std::size_t>(all - own)] + ceil_div(own, kBlock));
      }
    }
    most = std::move(next);
  }
  return most.back();
}

TEST(CacheRows, NeedsExactlyTheBlocksOfTheWorstDistribution) {
  for (const std::int64_t sequences : {2, 3, 7}) {
    for (const std::int64_t context : {1, 2, 6, 7, 8, 63, 64, 65, 66, 127, 128, 129, 130, 131}) {
      EXPECT_EQ(cache_rows_needed(context, sequences), kBlock * most_blocks(context, sequences))
          << context << " tokens, " << sequences << " sequences";
    }
  }
  // A token can be in one sequence only.
  EXPECT_EQ(cache_rows_needed(3, 4096), 3 * kBlock);
}

TEST(BlockPool, EveryDistributionOfTheContextFits) {
  constexpr std::int64_t kSequences = 5;
  constexpr std::int64_t kContext = 700;
  BlockPool pool = pool_of(kSequences, kContext);
  std::mt19937 random(7);
  for (int step = 0; step < 5000; ++step) {
    const std::int64_t one = static_cast<std::int64_t>(random()) % kSequences;
    pool.truncate(one, 0);
    const std::int64_t room = kContext - pool.taken();
    // All there is room for, and nothing, more often than by chance.
    const std::int64_t length = random() % 4 == 0 ? room
                                : random() % 4 == 0
                                    ? 0
                                    : static_cast<std::int64_t>(random()) % (room + 1);
    ASSERT_TRUE(pool.append(one, tokens_of(length), true)) << "the blocks are too few";
    if (length < room) {
      ASSERT_FALSE(pool.append(one, tokens_of(room - length + 1), true));
      pool.truncate(one, length);
    }
  }
}

}  // namespace
}  // namespace shunt::test::engine_block_pool_test
