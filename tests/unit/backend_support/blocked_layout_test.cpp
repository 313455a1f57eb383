// Which views of a tensor need no copy in a layout of blocks of columns.
#include "backend_support/blocked_layout.h"

#include <gtest/gtest.h>

#include "shunt/ops.h"

namespace shunt::test::backend_support_blocked_layout_test {
namespace {

constexpr std::int64_t kBlock = 64;

class BlockedLayout : public testing::Test {
 protected:
  Value input(const Shape& shape) { return *g_.input("x", *make_tensor(DType::kF32, shape)); }
  /// The place of a view of a tensor of the graph.
  SourcePlace place(const Result<Value>& view) {
    EXPECT_TRUE(view) << view.error().message();
    const Node& node = g_.graph().node(view->id);
    return place_in_blocks(node, g_.graph().node(node.storage), kBlock);
  }
  GraphBuilder g_;
};

TEST_F(BlockedLayout, TensorItselfIsInLayout) {
  EXPECT_EQ(place(input({10, 3, 2})), SourcePlace::kInLayout);
}

TEST_F(BlockedLayout, ReshapeOfMatricesStaysInLayout) {
  const Value x = input({10, 3, 2, 3});
  EXPECT_EQ(place(reshape(g_, x, {10, 3, 6})), SourcePlace::kInLayout);
  EXPECT_EQ(place(reshape(g_, x, {10, 6, 3})), SourcePlace::kOutside) << "other matrices";
  EXPECT_EQ(place(reshape(g_, x, {30, 1, 2, 3})), SourcePlace::kOutside) << "other rows";
}

TEST_F(BlockedLayout, TransposeIsTurned) {
  const Value x = input({10, 3});
  EXPECT_EQ(place(permute(g_, x, {1, 0, 2, 3})), SourcePlace::kTurned);
}

/// [heads * columns, tokens] as [columns, tokens, heads].
TEST_F(BlockedLayout, HeadsOfWholeBlocksAreInLayout) {
  const Value whole = input({2 * 128, 5});
  EXPECT_EQ(place(permute(g_, reshape(g_, whole, {128, 2, 5}), {0, 2, 1, 3})),
            SourcePlace::kInLayout);
  const Value cut = input({4 * 32, 5});
  EXPECT_EQ(place(permute(g_, reshape(g_, cut, {32, 4, 5}), {0, 2, 1, 3})), SourcePlace::kOutside);
}

TEST_F(BlockedLayout, PartialViewIsOutside) {
  const Value x = input({128, 4});
  EXPECT_EQ(place(view(g_, x, {0, 2, 0, 0}, {128, 2})), SourcePlace::kOutside)
      << "it starts behind the first";
  EXPECT_EQ(place(view(g_, x, {0, 0, 0, 0}, {64, 4})), SourcePlace::kOutside) << "of other sizes";
}

}  // namespace
}  // namespace shunt::test::backend_support_blocked_layout_test
