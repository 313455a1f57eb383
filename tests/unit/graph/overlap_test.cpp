// Which tensors share bytes, and the builder's refusals because of it.
#include "graph/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "ops/common/loops.h"
#include "shunt/ops.h"

namespace shunt::graph_overlap_test {
namespace {

using testing::HasSubstr;

/// The offset of each byte of a tensor.
std::set<std::int64_t> bytes_of(const Tensor& tensor, std::int64_t offset) {
  const DTypeTrait& type = trait(tensor.dtype);
  std::set<std::int64_t> bytes;
  for_each_element(max_sizes(tensor.shape), [&](const Sizes& i) {
    std::int64_t at = offset + i[0] / type.block_elements * tensor.stride(0);
    for (int d = 1; d < kMaxDims; ++d) at += i[static_cast<std::size_t>(d)] * tensor.stride(d);
    for (std::size_t k = 0; k < type.block_bytes; ++k) {
      bytes.insert(at + static_cast<std::int64_t>(k));
    }
  });
  return bytes;
}

struct Window {
  Tensor tensor;
  std::int64_t offset = 0;
};

/// A window of a contiguous tensor, its dimensions in any order.
Window random_window(const Tensor& whole, std::mt19937& random) {
  Window window{whole, 0};
  const std::int64_t block = trait(whole.dtype).block_elements;
  for (int d = 0; d < kMaxDims; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t unit = d == 0 ? block : 1;
    const std::int64_t steps = whole.size(d) / unit;
    const auto start = static_cast<std::int64_t>(random()) % (steps / 2 + 1) % steps;
    const auto none = random() % 50 == 0;
    const auto count = none ? 0 : 1 + static_cast<std::int64_t>(random()) % (steps - start);
    window.tensor.shape[i] = count * unit;
    window.offset += start * whole.stride(d);
  }
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  std::shuffle(order.begin() + (block > 1 ? 1 : 0), order.end(), random);
  const Tensor plain = window.tensor;
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    window.tensor.shape[i] = plain.shape[order[i]];
    window.tensor.strides[i] = plain.strides[order[i]];
  }
  return window;
}

TEST(Overlap, IsExactForWindowsOfATensor) {
  std::mt19937 random(1);
  std::size_t apart = 0;
  std::size_t together = 0;
  for (const Tensor& whole :
       {*make_tensor(DType::kF32, {5, 4, 3, 2}), *make_tensor(DType::kF16, {4, 1, 4, 4}),
        *make_tensor(DType::kQ4_0, {96, 4, 3, 2}), *make_tensor(DType::kI8, {12, 9})}) {
    for (int i = 0; i < 500; ++i) {
      const Window a = random_window(whole, random);
      const Window b = random_window(whole, random);
      const std::set<std::int64_t> a_bytes = bytes_of(a.tensor, a.offset);
      const std::set<std::int64_t> b_bytes = bytes_of(b.tensor, b.offset);
      const bool common = std::any_of(a_bytes.begin(), a_bytes.end(),
                                      [&](std::int64_t each) { return b_bytes.contains(each); });
      EXPECT_EQ(overlap({a.tensor, a.offset}, {b.tensor, b.offset}), common)
          << to_string(a.tensor) << " at " << a.offset << ", " << to_string(b.tensor) << " at "
          << b.offset;
      ++(common ? together : apart);
    }
  }
  EXPECT_GT(apart, 100U);
  EXPECT_GT(together, 100U);
}

TEST(Overlap, IsNeverMissedForReshapedTensors) {
  std::mt19937 random(2);
  const Tensor one = *make_tensor(DType::kF32, {6, 4, 5});
  const Tensor other = *make_tensor(DType::kF32, {8, 15});
  for (int i = 0; i < 500; ++i) {
    const Window a = random_window(one, random);
    const Window b = random_window(other, random);
    const std::set<std::int64_t> a_bytes = bytes_of(a.tensor, a.offset);
    const std::set<std::int64_t> b_bytes = bytes_of(b.tensor, b.offset);
    const bool common = std::any_of(a_bytes.begin(), a_bytes.end(),
                                    [&](std::int64_t each) { return b_bytes.contains(each); });
    EXPECT_TRUE(!common || overlap({a.tensor, a.offset}, {b.tensor, b.offset}));
  }
}

class WritesIntoFirst : public testing::Test {
 protected:
  Result<Value> rows(std::int64_t from, std::int64_t count) {
    return view(g, x, {0, from, 0, 0}, {8, count});
  }
  Result<Value> columns(std::int64_t from, std::int64_t count) {
    return view(g, x, {from, 0, 0, 0}, {count, 8});
  }
  static void expect_refused(const Result<Value>& result, const std::string& names) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr(names + " overlap in the memory of x (cache)"));
  }

  GraphBuilder g;
  Result<Value> x = g.cache("x", *make_tensor(DType::kF32, {8, 8}));
};

TEST_F(WritesIntoFirst, MayReadTheRestOfTheSameMemory) {
  EXPECT_TRUE(cpy(g, rows(0, 4), rows(4, 4)));
  EXPECT_TRUE(cpy(g, columns(0, 4), columns(4, 4)));
  EXPECT_TRUE(acc(g, columns(1, 3), columns(4, 3)));
  EXPECT_TRUE(
      cpy(g, view(g, x, {4, 0, 0, 0}, {4, 4}), transpose(g, view(g, x, {0, 4, 0, 0}, {4, 4}))));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {2}));
  EXPECT_TRUE(set_rows(g, rows(0, 6), rows(6, 2), ids));
  EXPECT_TRUE(set(g, rows(0, 6), rows(6, 2), {0, 3, 0, 0}));
}

TEST_F(WritesIntoFirst, MayReadTheSameElementsThatItWrites) {
  EXPECT_TRUE(acc(g, x, x));
  EXPECT_TRUE(cpy(g, rows(2, 3), rows(2, 3)));
  EXPECT_TRUE(update_moment(g, x, x));
}

TEST_F(WritesIntoFirst, MustNotReadTheDestinationShifted) {
  expect_refused(cpy(g, rows(0, 4), rows(1, 4)), "src and dst");
  expect_refused(cpy(g, rows(1, 4), rows(0, 4)), "src and dst");
  expect_refused(cpy(g, columns(0, 5), columns(3, 5)), "src and dst");
  expect_refused(cpy(g, transpose(g, x), x), "src and dst");
  expect_refused(acc(g, rows(1, 7), rows(0, 7)), "x and dst");
  expect_refused(update_moment(g, rows(1, 7), rows(0, 7)), "x and m");
}

TEST_F(WritesIntoFirst, MustNotReadTheDestinationByRowIds) {
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {8}));
  expect_refused(set_rows(g, x, x, ids), "rows and dst");
  const auto two = g.input("two", *make_tensor(DType::kI32, {2}));
  expect_refused(set_rows(g, rows(0, 6), rows(5, 2), two), "rows and dst");
  expect_refused(set(g, x, rows(0, 2), {0, 1, 0, 0}), "x and dst");
}

TEST_F(WritesIntoFirst, MustNotReadMemoryThatMayOverlap) {
  const auto flat = reshape(g, x, {64});
  expect_refused(cpy(g, view(g, flat, {4, 0, 0, 0}, {8}), rows(1, 1)), "src and dst");
}

}  // namespace
}  // namespace shunt::graph_overlap_test
