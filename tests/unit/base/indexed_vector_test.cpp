// Vectors and spans that one kind of number indexes.
#include "base/indexed_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/numbers_of.h"

namespace shunt::test::base_indexed_vector_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IndexRange, ExcludesItsEnd) {
  EXPECT_THAT(numbers_of<int>({2, 5}), ElementsAre(2, 3, 4));
  EXPECT_EQ(IndexRange<int>(2, 5).size(), 3);
}

TEST(IndexRange, IsEmptyIfItsEndIsNotAboveItsStart) {
  EXPECT_THAT(numbers_of<int>({3, 3}), IsEmpty());
  EXPECT_THAT(numbers_of<int>({0, -1}), IsEmpty());
  EXPECT_EQ(IndexRange<int>(0, -1).size(), 0);
}

TEST(IndexedVector, IsReadAndWrittenByIndex) {
  IndexedVector<int, char> letters = {'a', 'b', 'c'};
  const int last = 2;
  letters[last] = 'z';
  EXPECT_THAT(letters, ElementsAre('a', 'b', 'z'));
  const auto& fixed = letters;
  EXPECT_EQ(fixed[1], 'b');
}

TEST(IndexedVector, OfBoolsIsWrittenByIndex) {
  IndexedVector<int, bool> flags(3, false);
  flags[1] = true;
  EXPECT_THAT(flags, ElementsAre(false, true, false));
}

TEST(IndexedSpan, IsOverTheElementsOfAVector) {
  std::vector<char> letters = {'a', 'b', 'c'};
  const IndexedSpan<int, char> span(letters);
  span[1] = 'y';
  EXPECT_THAT(letters, ElementsAre('a', 'y', 'c'));
  const IndexedSpan<int, const char> part(std::span<const char>(letters).subspan(1));
  EXPECT_EQ(part[1], 'c');
}

template <class Container, class Index>
concept IsIndexedBy = requires(Container& container, Index index) {
  container[index];
};

TEST(IndexedVector, RejectsOtherIndexTypes) {
  EXPECT_TRUE((IsIndexedBy<IndexedVector<int, char>, int>));
  EXPECT_FALSE((IsIndexedBy<IndexedVector<int, char>, std::size_t>));
  EXPECT_FALSE((IsIndexedBy<IndexedVector<int, char>, std::uint32_t>));
  EXPECT_FALSE((IsIndexedBy<const IndexedVector<int, char>, std::int64_t>));
  EXPECT_TRUE((IsIndexedBy<IndexedVector<std::uint32_t, char>, std::uint32_t>));
  EXPECT_FALSE((IsIndexedBy<IndexedVector<std::uint32_t, char>, int>));
  EXPECT_FALSE((IsIndexedBy<IndexedSpan<int, char>, std::size_t>));
}

}  // namespace
}  // namespace shunt::test::base_indexed_vector_test
