// Blocks of the KV cache whose content moves to slots of the host, and comes back. The random
// operations of block_pool_test.cpp have slots, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/ceil_div.h"
#include "engine/load/cache_rows.h"
#include "engine/session/block_pool.h"
#include "engine/session/sequence_replacement.h"

namespace shunt::test::engine_block_pool_host_test {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kBlock = BlockPool::kBlock;

/// A pool that reuses blocks, with slots of the host.
BlockPool pool_of(std::int64_t sequences, std::int64_t context, std::int64_t slots) {
  BlockPool pool({.sequences = sequences,
                  .context = context,
                  .blocks = ceil_div(cache_rows_needed(context, sequences), kBlock),
                  .reuse = true});
  pool.set_host_slots(slots);
  return pool;
}

/// `count` tokens, different for each `kind`.
Tokens tokens_of(std::int64_t count, std::int32_t kind = 0) {
  Tokens tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 1000 * kind);
  return tokens;
}

/// Appends tokens and computes them.
void compute(BlockPool& pool, std::int64_t sequence, const Tokens& tokens) {
  ASSERT_TRUE(pool.append(sequence, tokens, true));
  while (!pool.pending().empty()) pool.mark_copied();
  pool.mark_cached(sequence, pool.length(sequence));
}

TEST(BlockPoolWithHost, BlocksThatAreGivenToOthersComeBack) {
  BlockPool pool = pool_of(2, 4 * kBlock, 8);
  compute(pool, 0, tokens_of(3 * kBlock));
  const std::uint64_t content = pool.content(pool.blocks(0)[1]);
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(4 * kBlock, 9));
  EXPECT_EQ(pool.host().used(), 2) << "the pool has five blocks";
  EXPECT_EQ(pool.host_traffic().saved, 2);
  EXPECT_TRUE(pool.has_content(0, content));
  pool.truncate(0, 0);
  ASSERT_TRUE(pool.append(1, tokens_of(3 * kBlock), true));
  EXPECT_EQ(pool.cached(1), kBlock) << "the second block is not copied yet";
  EXPECT_EQ(pool.promised(1), 2 * kBlock);
  const auto is_back = [&](const BlockCopy& copy) {
    return copy.way == CopyWay::kFromHost && copy.to == pool.blocks(1)[1];
  };
  EXPECT_EQ(std::ranges::count_if(pool.pending(), is_back), 1);
  while (!pool.pending().empty()) pool.mark_copied();
  EXPECT_EQ(pool.cached(1), 2 * kBlock) << "the last token is computed";
  EXPECT_EQ(pool.content(pool.blocks(1)[1]), content);
  EXPECT_EQ(pool.host_traffic().restored, 1);
}

/// A block is saved before anything else is written to it.
TEST(BlockPoolWithHost, CopiesAreInTheOrderOfTheirCauses) {
  BlockPool pool = pool_of(1, 2 * kBlock, 8);
  compute(pool, 0, tokens_of(2 * kBlock));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(2 * kBlock, 1));
  pool.truncate(0, 0);
  ASSERT_TRUE(pool.append(0, tokens_of(2 * kBlock), true));
  const auto pending = pool.pending();
  ASSERT_EQ(pending.size(), 3U) << "both blocks are saved, and the first one comes back";
  EXPECT_EQ(pending[0].way, CopyWay::kToHost);
  EXPECT_EQ(pending[1].way, CopyWay::kFromHost);
  EXPECT_EQ(pending[0].from, pending[1].to);
  EXPECT_NE(pending[0].to, pending[1].from);
  EXPECT_EQ(pending[2].way, CopyWay::kToHost);
}

TEST(BlockPoolWithHost, ContentThatComesBackIsNotCopiedToTheHostAgain) {
  BlockPool pool = pool_of(1, 2 * kBlock, 8);
  for (const std::int32_t kind : {0, 1, 0, 1, 0, 1}) {
    compute(pool, 0, tokens_of(2 * kBlock, kind));
    pool.truncate(0, 0);
  }
  // Of each text the first block; the second one, with the last token, is computed each time.
  EXPECT_EQ(pool.host_traffic().restored, 4);
  EXPECT_EQ(pool.host_traffic().saved, 4);
}

TEST(BlockPoolWithHost, AnAppendThatFailsLeavesNoCopyFromTheHost) {
  BlockPool pool = pool_of(2, 3 * kBlock, 8);
  compute(pool, 0, tokens_of(3 * kBlock));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(3 * kBlock, 1));
  pool.truncate(0, kBlock);
  ASSERT_FALSE(pool.append(1, tokens_of(4 * kBlock), true));
  for (const BlockCopy& copy : pool.pending()) EXPECT_EQ(copy.way, CopyWay::kToHost);
  EXPECT_EQ(pool.taken(), kBlock);
  // The slots are free to be used, and the content is there.
  while (!pool.pending().empty()) pool.mark_copied();
  ASSERT_TRUE(pool.append(1, tokens_of(2 * kBlock), true));
  EXPECT_EQ(pool.promised(1), kBlock);
}

TEST(BlockPoolWithHost, ScopesDoNotFindEachOthersSlots) {
  BlockPool pool = pool_of(1, 2 * kBlock, 8);
  pool.set_scope(0, "alice");
  compute(pool, 0, tokens_of(2 * kBlock));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(2 * kBlock, 1));
  const auto found_in = [&](const char* scope) {
    pool.truncate(0, 0);
    pool.set_scope(0, scope);
    EXPECT_TRUE(pool.append(0, tokens_of(2 * kBlock), true));
    return pool.promised(0);
  };
  EXPECT_EQ(found_in("bob"), 0);
  EXPECT_EQ(found_in(""), 0);
  EXPECT_EQ(found_in("alice"), kBlock);
}

TEST(BlockPoolWithHost, LostContentOfBlocksInUseComesBack) {
  BlockPool pool = pool_of(2, 4 * kBlock, 8);
  compute(pool, 0, tokens_of(3 * kBlock));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(4 * kBlock, 1));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(3 * kBlock));
  ASSERT_EQ(pool.host_traffic().restored, 1);
  pool.truncate(0, 2 * kBlock);
  // Copies to the host that are not made yet have no source any more.
  ASSERT_TRUE(pool.append(1, tokens_of(2 * kBlock, 7), true));
  const auto saved = std::ranges::count(pool.pending(), CopyWay::kToHost, &BlockCopy::way);
  ASSERT_GT(saved, 0);
  const std::int64_t used = pool.host().used();
  pool.lose_content();
  EXPECT_EQ(pool.host().used(), used - saved);
  EXPECT_EQ(pool.cached(0), 0);
  for (const BlockCopy& copy : pool.pending()) EXPECT_EQ(copy.way, CopyWay::kFromHost);
  EXPECT_EQ(std::ssize(pool.pending()), 1);
  EXPECT_EQ(pool.pending()[0].to, pool.blocks(0)[1]);
}

/// The block that takes the content would need the slot for its own.
TEST(BlockPoolWithHost, ASlotIsKeptUntilItsContentIsBack) {
  BlockPool pool = pool_of(1, 2 * kBlock, 1);
  compute(pool, 0, tokens_of(kBlock));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(2 * kBlock, 1));
  ASSERT_EQ(pool.host().used(), 1);
  pool.truncate(0, 0);
  ASSERT_TRUE(pool.append(0, tokens_of(2 * kBlock), true));
  ASSERT_EQ(pool.pending().size(), 1U);
  const BlockCopy expected = {0, pool.blocks(0)[0], kBlock, CopyWay::kFromHost};
  EXPECT_EQ(pool.pending()[0], expected);
}

/// No other block is left, so the edited one is written itself.
TEST(BlockPoolWithHost, AnEditedBlockIsSavedBeforeItIsWritten) {
  BlockPool pool = pool_of(1, kBlock, 1);
  compute(pool, 0, tokens_of(kBlock));
  pool.truncate(0, kBlock - 4);
  ASSERT_TRUE(pool.append(0, tokens_of(4, 3), true));
  const BlockCopy expected = {0, 0, kBlock, CopyWay::kToHost};
  ASSERT_EQ(pool.pending().size(), 1U);
  EXPECT_EQ(pool.pending()[0], expected);
  EXPECT_EQ(pool.cached(0), kBlock - 4);
}

TEST(BlockPoolWithHost, ASlotHasTheNumberOfTheLastContent) {
  BlockPool pool = pool_of(1, 2 * kBlock, 8);
  std::uint64_t content = 0;
  for (const std::int32_t kind : {0, 1, 0, 1}) {
    compute(pool, 0, tokens_of(2 * kBlock, kind));
    if (kind == 0) content = pool.content(pool.blocks(0)[1]);
    pool.truncate(0, 0);
  }
  EXPECT_TRUE(pool.host().has(content));
}

TEST(SequenceReplacement, RowsThatComeBackFromTheHostAreNotMissing) {
  BlockPool pool = pool_of(1, 2 * kBlock, 4);
  compute(pool, 0, tokens_of(2 * kBlock));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(2 * kBlock, 1));
  SequenceReplacement replacement(pool, 0);
  ASSERT_TRUE(replacement.set_tokens(tokens_of(2 * kBlock), 2 * kBlock));
  ASSERT_EQ(replacement.missing().size(), 1U);
  EXPECT_EQ(replacement.missing()[0].token, kBlock);
}

TEST(SequenceReplacement, UndoLosesSlotsThatWereOverwritten) {
  BlockPool pool = pool_of(1, 2 * kBlock, 1);
  compute(pool, 0, tokens_of(2 * kBlock));
  pool.truncate(0, 0);
  compute(pool, 0, tokens_of(2 * kBlock, 1));
  ASSERT_EQ(pool.host().used(), 1);
  {
    SequenceReplacement replacement(pool, 0);
    ASSERT_FALSE(replacement.set_tokens(tokens_of(3 * kBlock, 2), 1)) << "no room";
  }
  EXPECT_EQ(pool.host().used(), 1);
  {
    SequenceReplacement replacement(pool, 0);
    ASSERT_TRUE(replacement.set_tokens(tokens_of(2 * kBlock, 2), 1));
    ASSERT_FALSE(pool.pending().empty());
    while (!pool.pending().empty()) pool.mark_copied();
  }
  EXPECT_EQ(pool.host().used(), 0);
  EXPECT_TRUE(std::ranges::equal(pool.tokens(0), tokens_of(2 * kBlock, 1)));
}

}  // namespace
}  // namespace shunt::test::engine_block_pool_host_test
