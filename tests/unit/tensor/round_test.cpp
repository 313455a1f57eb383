// The value of largest magnitude, from counts that the compiler knows: it unrolls these loops, and
// then simplifies the comparisons.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "tensor/formats/round.h"

namespace shunt::formats::tensor_round_test {
namespace {

template <std::size_t Count>
void expect_at_every_place(float farthest) {
  for (std::size_t place = 0; place < Count; ++place) {
    std::array<float, Count> values = {};
    for (std::size_t i = 0; i < Count; ++i) values[i] = i % 2 == 0 ? 2.0f : -2.0f;
    values[place] = farthest;
    EXPECT_EQ(largest(values.data(), Count), farthest) << "at " << place << " of " << Count;
  }
}

TEST(Largest, IsTheValueFarthestFromZeroWithItsSign) {
  for (const float farthest : {3.0f, -3.0f}) {
    expect_at_every_place<1>(farthest);
    expect_at_every_place<8>(farthest);
    expect_at_every_place<16>(farthest);
    expect_at_every_place<32>(farthest);
  }
}

TEST(Largest, IsTheFirstOfOneMagnitude) {
  constexpr std::array kValues = {0.0f, -1.0f, 2.0f, -2.0f};
  constexpr std::array kNegated = {0.0f, 1.0f, -2.0f, 2.0f};
  EXPECT_EQ(largest(kValues.data(), kValues.size()), 2.0f);
  EXPECT_EQ(largest(kNegated.data(), kNegated.size()), -2.0f);
}

}  // namespace
}  // namespace shunt::formats::tensor_round_test
