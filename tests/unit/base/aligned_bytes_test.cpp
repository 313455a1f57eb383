#include "base/aligned_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "support/advice.h"

namespace shunt::base_aligned_bytes_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::uintptr_t number(const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

/// Whether the system was asked for huge pages at this place; nothing if the system does not report
/// it.
std::optional<bool> asked_for_huge_pages(const std::byte* data) {
  const auto flags = test::memory_flags(data);
  if (!flags) return std::nullopt;
  return flags->find(" hg ") != std::string::npos;
}

TEST(AlignedBytes, AreAlignedAndNullIfAllocationFails) {
  for (std::size_t alignment : {std::size_t{64}, page_size()}) {
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, kMiB + 1}) {
      const AlignedBytes data = allocate_aligned(bytes, alignment);
      ASSERT_NE(data, nullptr);
      EXPECT_EQ(number(data.get()) % alignment, 0U);
      std::fill_n(data.get(), bytes, std::byte{1});
    }
  }
  EXPECT_EQ(allocate_aligned(std::size_t{1} << 62, 64), nullptr);
}

TEST(AlignedBytes, LargeAllocationsRequestHugePages) {
  const AlignedBytes small = allocate_aligned(kHugePagesFrom - 1, 64);
  const AlignedBytes large = allocate_aligned(kHugePagesFrom, 64);
  const AlignedBytes odd = allocate_aligned(2 * kHugePagesFrom - 1, 64);
  EXPECT_EQ(number(large.get()) % (2 * kMiB), 0U);
  EXPECT_EQ(number(odd.get()) % (2 * kMiB), 0U);
  std::fill_n(odd.get(), 2 * kHugePagesFrom - 1, std::byte{1});
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this system has no huge pages to ask for";
  }
  const auto told = asked_for_huge_pages(large.get());
  if (!told) GTEST_SKIP() << "this system doesn't tell";
  if (!test::advice_arrives()) GTEST_SKIP() << "an emulator keeps advice from the system";
  EXPECT_TRUE(*told);
  EXPECT_EQ(asked_for_huge_pages(odd.get()), true);
  EXPECT_EQ(asked_for_huge_pages(small.get()), false);
}

TEST(AlignedBytes, ForgottenPagesAreZeroAndNeighborsKeepTheirBytes) {
  const std::size_t page = page_size();
  const AlignedBytes data = allocate_aligned(3 * page, page);
  ASSERT_NE(data, nullptr);
  std::memset(data.get(), 7, 3 * page);
  forget_pages(data.get() + page, 2 * page - 1);  // one page is whole
  const auto all = [&](std::size_t from, std::byte value) {
    return std::all_of(data.get() + from, data.get() + from + page,
                       [&](std::byte each) { return each == value; });
  };
  EXPECT_TRUE(all(0, std::byte{7}));
  EXPECT_TRUE(all(page, std::byte{0}));
  EXPECT_TRUE(all(2 * page, std::byte{7}));
}

}  // namespace
}  // namespace shunt::base_aligned_bytes_test
