#include "backend_support/error_share.h"

#include <gtest/gtest.h>

namespace shunt::test::backend_support_error_share_test {
namespace {

/// 1 + 64 / n, as in the documentation of the ops' cases (product_error()).
TEST(ErrorShare, IsLargerForFewElements) {
  EXPECT_EQ(error_share(*make_tensor(DType::kF32, {1})), 65);
  EXPECT_EQ(error_share(*make_tensor(DType::kF32, {16, 4})), 2);
  EXPECT_EQ(error_share(*make_tensor(DType::kF32, {6400})), 1.01);
}

TEST(ErrorShare, IsZeroForNoElements) {
  EXPECT_EQ(error_share(*make_tensor(DType::kF32, {16, 0})), 0);
}

}  // namespace
}  // namespace shunt::test::backend_support_error_share_test
