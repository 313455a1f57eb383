// Documents packed into rows: which goes where is worked out by hand.
#include "train/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace shunt::test::train_rows_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

/// Documents of these numbers of tokens: 100, 101, ... then 200, 201, ...
TrainingText documents(const std::vector<std::size_t>& lengths) {
  TrainingText text;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    text.starts.push_back(text.tokens.size());
    text.bytes.push_back(lengths[i]);
    for (std::size_t j = 0; j < lengths[i]; ++j) {
      text.tokens.push_back(static_cast<std::int32_t>(100 * (i + 1) + j));
    }
  }
  text.starts.push_back(text.tokens.size());
  return text;
}

TEST(RowPacker, PlacesTheLongestFittingDocumentNext) {
  // A document of n tokens takes n - 1 places: its last token is only something to learn.
  const TrainingText text = documents({3, 5, 4, 2});
  RowPacker packer(text, in_order(text), 6, 2);
  TrainingRows rows;
  ASSERT_TRUE(packer.fill(rows));
  EXPECT_THAT(rows.tokens, ElementsAre(200, 201, 202, 203, 100, 101, 300, 301, 302, 400, 0, 0));
  EXPECT_THAT(rows.next, ElementsAre(201, 202, 203, 204, 101, 102, 301, 302, 303, 401, -1, -1));
  EXPECT_THAT(rows.starts, ElementsAre(0, 0, 0, 0, 4, 4, 0, 0, 0, 3, 4, 4));
  EXPECT_EQ(rows.scored, 10);
  EXPECT_FALSE(packer.fill(rows));
  EXPECT_EQ(rows.scored, 0);
  EXPECT_THAT(rows.next, Each(-1));
}

TEST(RowPacker, SplitsDocumentsLongerThanARow) {
  const TrainingText text = documents({8});
  RowPacker packer(text, in_order(text), 3, 3);
  TrainingRows rows;
  ASSERT_TRUE(packer.fill(rows));
  EXPECT_THAT(rows.tokens, ElementsAre(100, 101, 102, 103, 104, 105, 106, 0, 0));
  EXPECT_THAT(rows.next, ElementsAre(101, 102, 103, 104, 105, 106, 107, -1, -1));
  EXPECT_THAT(rows.starts, ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 1));
}

TEST(RowPacker, PredictsEveryTokenOncePerEpoch) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 200; ++i) lengths.push_back(2 + i * 7 % 40);
  const TrainingText text = documents(lengths);
  RowPacker packer(text, in_order(text), 32, 4);
  std::multiset<std::int32_t> learned;
  for (TrainingRows rows; packer.fill(rows);) {
    for (const std::int32_t next : rows.next) {
      if (next >= 0) learned.insert(next);
    }
  }
  std::multiset<std::int32_t> all;
  for (std::size_t i = 0; i < text.documents(); ++i) {
    const auto tail = text.document(i).subspan(1);
    all.insert(tail.begin(), tail.end());
  }
  EXPECT_EQ(learned, all);
}

std::vector<std::size_t> take(const RowPacker::Order& order, std::size_t count) {
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < count; ++i) taken.push_back(*order());
  return taken;
}

TEST(Shuffled, GivesEachDocumentOncePerEpochInANewOrder) {
  const TrainingText text = documents(std::vector<std::size_t>(50, 2));
  const auto order = shuffled(text, 3);
  const auto first = take(order, 50);
  const auto second = take(order, 50);
  std::vector<std::size_t> all(50);
  for (std::size_t i = 0; i < 50; ++i) all[i] = i;
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(second, ::testing::UnorderedElementsAreArray(all));
  EXPECT_NE(first, all);
  EXPECT_NE(first, second);
}

TEST(Shuffled, DependsOnlyOnTheSeed) {
  const TrainingText text = documents(std::vector<std::size_t>(50, 2));
  EXPECT_THAT(take(shuffled(text, 3), 120), ElementsAreArray(take(shuffled(text, 3), 120)));
  EXPECT_NE(take(shuffled(text, 3), 50), take(shuffled(text, 4), 50));
}

}  // namespace
}  // namespace shunt::test::train_rows_test
