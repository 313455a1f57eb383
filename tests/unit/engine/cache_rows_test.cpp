// Which rows of a cache sequences get, against a plain account of who has which block.
#include "engine/load/cache_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace shunt::test::engine_cache_rows_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Blocks = std::vector<std::int64_t>;

constexpr std::int64_t kBlock = CacheRows::kBlock;

std::int64_t blocks_for(std::int64_t length) {
  std::int64_t blocks = 0;
  while (blocks * kBlock < length) ++blocks;
  return blocks;
}

Blocks blocks_of(const CacheRows& rows, std::int64_t sequence) {
  const auto blocks = rows.blocks(sequence);
  return {blocks.begin(), blocks.end()};
}

TEST(CacheRows, OneSequenceHasContiguousRowsAndNeedsOnlyTheContext) {
  for (const std::int64_t context : {1, 63, 64, 65, 1000}) {
    EXPECT_EQ(CacheRows::needed(context, 1), context);
  }
  CacheRows rows(1);
  EXPECT_THAT(rows.blocks(0), IsEmpty());
  for (const std::int64_t length : {1, 64, 65, 200, 3, 0, 129}) {
    rows.resize(0, length);
    Blocks in_order;
    for (std::int64_t i = 0; i < blocks_for(length); ++i) in_order.push_back(i);
    EXPECT_EQ(blocks_of(rows, 0), in_order) << length;
  }
}

TEST(CacheRows, TokenBeyondABlockAllocatesAnother) {
  CacheRows rows(2);
  rows.resize(0, kBlock);
  rows.resize(1, 1);
  rows.resize(0, kBlock + 1);
  EXPECT_THAT(rows.blocks(0), ElementsAre(0, 2));
  EXPECT_THAT(rows.blocks(1), ElementsAre(1));
}

TEST(CacheRows, AllocatesTheLowestFreeBlockFirst) {
  CacheRows rows(3);
  for (const std::int64_t sequence : {0, 1, 2}) rows.resize(sequence, 2 * kBlock);
  rows.resize(2, 1);           // gives back 5
  rows.resize(0, kBlock - 1);  // and 1
  rows.resize(1, 0);           // and 2, 3
  rows.resize(2, 4 * kBlock);
  EXPECT_THAT(rows.blocks(0), ElementsAre(0));
  EXPECT_THAT(rows.blocks(2), ElementsAre(4, 1, 2, 3));
  rows.resize(1, kBlock + 1);
  EXPECT_THAT(rows.blocks(1), ElementsAre(5, 6));
}

/// The most blocks that `sequences` sequences can begin with the context's tokens. Found by trying
/// every length of the last sequence.
std::int64_t most_blocks(std::int64_t context, std::int64_t sequences) {
  std::vector<std::int64_t> most(static_cast<std::size_t>(context) + 1, 0);
  for (std::int64_t i = 0; i < sequences; ++i) {
    for (std::int64_t all = context; all >= 0; --all) {
      for (std::int64_t last = 0; last <= all; ++last) {
        most[static_cast<std::size_t>(all)] =
            std::max(most[static_cast<std::size_t>(all)],
                     most[static_cast<std::size_t>(all - last)] + blocks_for(last));
      }
    }
  }
  return most.back();
}

TEST(CacheRows, NeedsExactlyTheBlocksOfTheWorstDistribution) {
  for (const std::int64_t sequences : {2, 3, 7}) {
    for (const std::int64_t context : {1, 2, 6, 7, 8, 63, 64, 65, 66, 127, 128, 129, 130, 131}) {
      EXPECT_EQ(CacheRows::needed(context, sequences), kBlock * most_blocks(context, sequences))
          << context << " tokens, " << sequences << " sequences";
    }
  }
  // A token can be in one sequence only.
  EXPECT_EQ(CacheRows::needed(3, 4096), 3 * kBlock);
}

TEST(CacheRows, SequencesNeverShareABlockWhenResizedAtRandom) {
  constexpr std::int64_t kSequences = 5;
  constexpr std::int64_t kContext = 700;
  const std::int64_t blocks = blocks_for(CacheRows::needed(kContext, kSequences));
  std::mt19937 random(7);
  CacheRows rows(kSequences);
  std::vector<std::int64_t> lengths(kSequences);
  std::vector<Blocks> expected(kSequences);
  std::set<std::int64_t> free;
  for (std::int64_t i = 0; i < blocks; ++i) free.insert(i);
  std::size_t fullest = 0;
  for (int step = 0; step < 5000; ++step) {
    const std::size_t one = random() % kSequences;
    std::int64_t room = kContext;
    for (std::size_t i = 0; i < lengths.size(); ++i) room -= i == one ? 0 : lengths[i];
    // All there is room for, and nothing, more often than by chance.
    lengths[one] = random() % 4 == 0   ? room
                   : random() % 4 == 0 ? 0
                                       : static_cast<std::int64_t>(random()) % (room + 1);
    rows.resize(static_cast<std::int64_t>(one), lengths[one]);
    Blocks& mine = expected[one];
    while (static_cast<std::int64_t>(mine.size()) > blocks_for(lengths[one])) {
      free.insert(mine.back());
      mine.pop_back();
    }
    while (static_cast<std::int64_t>(mine.size()) < blocks_for(lengths[one])) {
      ASSERT_FALSE(free.empty()) << "needed() is too little";
      mine.push_back(*free.begin());
      free.erase(free.begin());
    }
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(blocks_of(rows, static_cast<std::int64_t>(i)), expected[i]) << "step " << step;
    fullest = std::max(fullest, static_cast<std::size_t>(blocks) - free.size());
  }
  EXPECT_GT(fullest, static_cast<std::size_t>(blocks) - 3) << "the cache was never nearly full";
}

}  // namespace
}  // namespace shunt::test::engine_cache_rows_test
