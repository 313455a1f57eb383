// Tests of vector code, which run at every level that the machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// At the level that is its parameter.
class AtLevel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(limit_level(GetParam())); }
  void TearDown() override { limit_level(""); }
};

inline std::vector<std::string> level_names() {
  const auto names = levels();
  return {names.begin(), names.end()};
}
inline std::string name_of_level(const testing::TestParamInfo<std::string>& test) {
  return test.param;
}

}  // namespace shunt::cpu::simd
