// Runs the kernels of kernels/*.ptx with all checks on, for each of three orders and each way to
// sum.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "numbers.h"
#include "support.h"

namespace twin_test {

inline std::string kernel_text(const std::string& file) {
  std::ifstream in(std::string(TWIN_TEST_FOLDER) + "/kernels/" + file + ".ptx");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << file;
  return text.str();
}

/// The seed of the order, and the setting of mma's sums.
using KernelSettings = std::tuple<const char*, const char*>;

class KernelTest : public ::testing::TestWithParam<KernelSettings> {
 protected:
  KernelTest() {
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", std::get<0>(GetParam())), 1);
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_MMA_SUM", std::get<1>(GetParam())), 1);
  }
  ~KernelTest() override { EXPECT_EQ(finding(), ""); }

  static std::string finding() {
    const char* check = nullptr;
    const char* text = nullptr;
    if (cuda_twin_finding(0, &check, &text) == 0) return "";
    return std::string(check) + ": " + text;
  }

  /// Arguments are the kernel's parameters, with the types that it declares.
  template <class... Args>
  void run(const std::string& file, const char* kernel, Dim grid, Dim block, unsigned shared,
           Args... args) {
    std::string log;
    const CUresult result = launch(kernel_text(file), kernel, grid, block,
                                   {static_cast<void*>(&args)...}, shared, &log);
    EXPECT_EQ(result, CUDA_SUCCESS)
        << kernel << ": " << name_of(result) << ": " << log << cuda_twin_last_fault();
  }

  Gpu gpu_;
};

/// Three seeds with each way to sum, and the order without a seed. AddressSanitizer has each of
/// these once.
inline std::vector<KernelSettings> kernel_settings() {
#ifdef __SANITIZE_ADDRESS__
  return {{"0", "single"}, {"1", "double"}, {"2", "truncated"}, {"77", "single"}};
#endif
  std::vector<KernelSettings> settings = {{"0", "single"}};
  for (const char* seed : {"1", "2", "77"}) {
    for (const char* sum : {"single", "double", "truncated"}) settings.emplace_back(seed, sum);
  }
  return settings;
}

#define CUDA_TWIN_KERNEL_TEST(NAME)                                                                \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Settings, NAME, ::testing::ValuesIn(kernel_settings()), [](const auto& tested) {             \
        return std::string("Order") + std::get<0>(tested.param) + "_" + std::get<1>(tested.param); \
      })

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<double>& expected, double error) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), expected[i], error) << "element " << i;
  }
}

}  // namespace twin_test
