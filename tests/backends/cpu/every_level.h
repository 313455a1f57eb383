// Tests of vector code, which run at every level that the machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd {

/// The level that the running test is about; outside of AtLevel the best of the machine.
inline Level& test_level() {
  static Level level = Level::best();
  return level;
}

/// At the level that is its parameter.
class AtLevel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto level = Level::find(GetParam());
    ASSERT_TRUE(level);
    test_level() = *level;
  }
  void TearDown() override { test_level() = Level::best(); }
};

inline std::vector<std::string> level_names() {
  const auto names = levels();
  return {names.begin(), names.end()};
}
inline std::string name_of_level(const testing::TestParamInfo<std::string>& test) {
  return test.param;
}

}  // namespace shunt::cpu::simd
