// The weights that a waiting thread asks for are those that the items read.
#include <gtest/gtest.h>

#include <vector>

#include "backends/cpu/kernels/matmul.h"

namespace shunt::cpu::streamed_weights_test {
namespace {

constexpr std::int64_t kDepth = 64;
constexpr std::int64_t kRowBytes = kDepth * 4;

/// F32 weights [64, rows, slices] times x [64, columns, slices].
class StreamedWeights : public ::testing::Test {
 protected:
  Call call(std::int64_t rows, std::int64_t columns, std::int64_t slices = 1,
            std::int64_t row_bytes = kRowBytes) {
    memory_.resize(static_cast<std::size_t>(rows * slices * row_bytes));
    x_.resize(static_cast<std::size_t>(columns * slices * kRowBytes));
    Call made;
    made.sources[0] = {.data = memory_.data(),
                       .sizes = {kDepth, rows, slices, 1},
                       .strides = {4, row_bytes, rows * row_bytes, rows * slices * row_bytes}};
    made.sources[1] = {
        .data = x_.data(),
        .sizes = {kDepth, columns, slices, 1},
        .strides = {4, kRowBytes, columns * kRowBytes, slices * columns * kRowBytes}};
    made.result = {.sizes = {rows, columns, slices, 1}, .strides = {4, rows * 4, 0, 0}};
    made.threads = 2;
    return made;
  }
  StreamedBytes streamed(const Call& of, std::int64_t begin, std::int64_t end, int phase = 1) {
    return matmul_kernel().streamed(of, phase, begin, end);
  }

  std::vector<std::byte> memory_;
  std::vector<std::byte> x_;
};

TEST_F(StreamedWeights, AreTheRowsOfTheItems) {
  const Call one = call(100, 1);
  const std::int64_t items = matmul_kernel().items(one, 1);
  ASSERT_EQ(items, 7);  // of 16 rows
  const StreamedBytes first = streamed(one, 0, 2);
  EXPECT_EQ(first[0].data(), memory_.data());
  EXPECT_EQ(first[0].size(), 32 * kRowBytes);
  EXPECT_TRUE(first[1].empty());
  const StreamedBytes last = streamed(one, 6, 7);
  EXPECT_EQ(last[0].data(), memory_.data() + 96 * kRowBytes);
  EXPECT_EQ(last[0].size(), 4 * kRowBytes);
}

TEST_F(StreamedWeights, AreNoneWhereItemsDoNotReadThemOnceInARow) {
  EXPECT_TRUE(streamed(call(100, 1), 0, 2, 0)[0].empty()) << "the phase that packs x";
  EXPECT_TRUE(streamed(call(100, 200), 0, 2)[0].empty()) << "many columns";
  EXPECT_TRUE(streamed(call(100, 1, 2), 0, 2)[0].empty()) << "two slices";
  EXPECT_TRUE(streamed(call(100, 1, 1, 2 * kRowBytes), 0, 2)[0].empty()) << "rows with gaps";
}

}  // namespace
}  // namespace shunt::cpu::streamed_weights_test
