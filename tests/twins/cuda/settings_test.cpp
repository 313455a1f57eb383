// Values of settings that are numbers.
#include <algorithm>
#include <string>
#include <vector>

#include "support.h"

namespace cuda_settings_test {
namespace {

using twin_test::Gpu;

struct Numbers {
  const char* name;
  std::vector<const char*> good, bad;
};

/// As the README's table has them. A code is one of CUresult.
const std::vector<Numbers>& numbers() {
  static const std::vector<Numbers> all = {
      {"CUDA_TWIN_DEVICES", {"0", "1", "8"}, {"9", "1000000000", "-1"}},
      {"CUDA_TWIN_MULTIPROCESSORS", {"0", "1", "1024"}, {"1025", "-1"}},
      {"CUDA_TWIN_CLOCK", {"0", "1000000"}, {"1000001", "-1"}},
      {"CUDA_TWIN_DRIVER", {"11000", "12040", "13000"}, {"5", "10999", "13001", "99999"}},
      {"CUDA_TWIN_LATE_CODE", {"1", "700", "719", "999"}, {"0", "600", "601", "99999"}},
      {"CUDA_TWIN_MISSING", {"0", "1"}, {"1000"}},
  };
  return all;
}

TEST(CudaSettings, NumbersOutOfRangeAreRefused) {
  const Gpu gpu;
  for (const Numbers& row : numbers()) {
    for (const char* value : row.good) EXPECT_EQ(cuda_twin_set(row.name, value), 1) << row.name;
    for (const char* value : row.bad) EXPECT_EQ(cuda_twin_set(row.name, value), 0) << row.name;
  }
}

TEST(CudaSettings, ARefusedValueChangesNothing) {
  const Gpu gpu;
  int version = 0;
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_DRIVER", "12040"), 1);
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_DRIVER", "13001"), 0);
  TWIN_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 12040);
}

TEST(CudaSettings, VectorLevelIsTheChosenOneOrTheNextThatTheHostHas) {
  const Gpu gpu;
  const std::string best = cuda_twin_level();
  const std::vector<std::string> levels = {"baseline", "v3", "v4"};
  const auto last = std::ranges::find(levels, best);
  ASSERT_NE(last, levels.end()) << best;
  for (auto level = levels.begin(); level != levels.end(); ++level) {
    ASSERT_EQ(cuda_twin_set("CUDA_TWIN_LEVEL", level->c_str()), 1);
    EXPECT_EQ(cuda_twin_level(), *std::min(level, last)) << *level;
  }
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_LEVEL", "best"), 1);
  EXPECT_EQ(cuda_twin_level(), best);
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_LEVEL", "v2"), 0);
}

}  // namespace
}  // namespace cuda_settings_test
