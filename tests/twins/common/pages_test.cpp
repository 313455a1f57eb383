// Pages that the library wrote, and those that others wrote.
#include "common/pages.h"

#include <gtest/gtest.h>

#include <array>

namespace {

using twin::PageState;

class TwinPages : public testing::Test {
 protected:
  TwinPages() { twin::forget_all_pages(); }
  ~TwinPages() override { twin::forget_all_pages(); }
  std::byte* page(std::size_t index) { return memory.data() + index * 4096; }

  alignas(4096) std::array<std::byte, 3 * 4096> memory{};
};

TEST_F(TwinPages, AreKnownOnceRemembered) {
  EXPECT_EQ(twin::state_of_pages(page(0), 4096), PageState::kNeverWritten);
  twin::remember_pages(page(0), 8192);
  EXPECT_EQ(twin::state_of_pages(page(0), 8192), PageState::kAsWritten);
  EXPECT_EQ(twin::state_of_pages(page(1), 4096), PageState::kAsWritten);  // cut at a border
  EXPECT_EQ(twin::state_of_pages(page(0), 8193), PageState::kNeverWritten);
  EXPECT_EQ(twin::state_of_pages(page(2), 0), PageState::kAsWritten);  // no page
}

TEST_F(TwinPages, NoticeAChangeOfAnyByte) {
  twin::remember_pages(page(0), 3 * 4096);
  for (const std::size_t at : {0u, 1u, 4095u, 4096u, 8191u, 12287u}) {
    memory[at] = std::byte{1};
    EXPECT_EQ(twin::state_of_pages(page(0), 3 * 4096), PageState::kChanged) << at;
    memory[at] = std::byte{0};
    EXPECT_EQ(twin::state_of_pages(page(0), 3 * 4096), PageState::kAsWritten) << at;
  }
}

TEST_F(TwinPages, LastPageMayBePartial) {
  twin::remember_pages(page(0), 4096 + 13);
  memory[4096 + 13] = std::byte{1};  // behind its end
  EXPECT_EQ(twin::state_of_pages(page(0), 4096 + 13), PageState::kAsWritten);
  memory[4096 + 12] = std::byte{1};
  EXPECT_EQ(twin::state_of_pages(page(0), 4096 + 13), PageState::kChanged);
}

TEST_F(TwinPages, ForgottenPagesAreUnknown) {
  twin::remember_pages(page(0), 3 * 4096);
  twin::forget_pages(page(1), 4096);
  EXPECT_EQ(twin::state_of_pages(page(0), 4096), PageState::kAsWritten);
  EXPECT_EQ(twin::state_of_pages(page(1), 4096), PageState::kNeverWritten);
  EXPECT_EQ(twin::state_of_pages(page(2), 4096), PageState::kAsWritten);
  twin::forget_all_pages();
  EXPECT_EQ(twin::state_of_pages(page(0), 4096), PageState::kNeverWritten);
}

}  // namespace
