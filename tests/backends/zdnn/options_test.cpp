// Options of the zDNN backend, whether its library is there or not.
#include "support/option_values.h"

namespace shunt::test::zdnn_options_test {
namespace {

TEST(ZdnnOptions, NumbersOutOfRangeSaturateOrNot) {
  expect_option("zdnn", "out_of_range", {"SHUNT_OUT_OF_RANGE", "SHUNT_ZDNN_OUT_OF_RANGE"},
                {"saturate", "exact"}, "clamp");
}

}  // namespace
}  // namespace shunt::test::zdnn_options_test
