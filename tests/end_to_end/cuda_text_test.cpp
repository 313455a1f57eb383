// The likeliest text on an NVIDIA GPU, by the twin of the driver, is that of the CPU: 64 tokens of
// real models, in the types of weights that people use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "shunt/llm.h"
#include "shunt/registry.h"
#include "support/run_command.h"
#include "support/sanitized.h"
#include "support/shared.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::cuda_text_test {
namespace {

constexpr int kTokens = kSanitized ? 4 : 64;

using Logits = std::vector<float>;

std::int32_t likeliest(const Logits& logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}
double mean_square(const Logits& logits) {
  double sum = 0;
  for (const float each : logits) sum += double{each} * each;
  return sum / static_cast<double>(logits.size());
}
double distance(const Logits& found, const Logits& expected) {
  Logits difference(found.size());
  std::ranges::transform(found, expected, difference.begin(), std::minus());
  return mean_square(difference) / mean_square(expected);
}

class CudaText : public testing::Test {
 protected:
  void SetUp() override {
    const std::string twin = SHUNT_TEST_CUDA_TWIN;
    if (twin.empty()) GTEST_SKIP() << "there is no twin of CUDA's driver in this build";
    Options options;
    options.libraries["cuda"] = twin;
    auto registry = Registry::create(options);
    ASSERT_TRUE(registry) << registry.error().message();
    registry_ = std::move(*registry);
    for (const BackendStatus& backend : registry_->backends()) {
      if (backend.note.find("no CUDA kernels") != std::string::npos) GTEST_SKIP() << backend.note;
    }
  }

  /// A model with its session on a device.
  Result<std::unique_ptr<Session>> open(const std::string& path, const std::string& device) const {
    SHUNT_ASSIGN(const auto chosen, registry_->select(std::vector{device}));
    LoadOptions options;
    options.session.context = 128;
    options.placement.rules_only = true;
    SHUNT_ASSIGN(const auto model, Model::load(path, chosen, options));
    return Session::create(model, options.session);
  }

  /// Both compute the CPU's text. A long prompt is the first step. `error`: the largest normalised
  /// mean square error of logits. Where the likeliest token differs, the CPU's two candidates are
  /// closer than the root mean square of all differences.
  void compare(const std::string& path, const Stories& told, double error) const {
    std::vector<std::int32_t> tokens = told.prompt_ids;
    const std::size_t more = std::min<std::size_t>(told.ids.size(), 20);
    tokens.insert(tokens.end(), told.ids.begin(),
                  told.ids.begin() + static_cast<std::ptrdiff_t>(more));
    ASSERT_GT(tokens.size(), 8U) << "few columns have other kernels";
    const auto cuda = open(path, "cuda0"), cpu = open(path, "cpu0");
    ASSERT_TRUE(cuda) << cuda.error().message();
    ASSERT_TRUE(cpu) << cpu.error().message();
    EXPECT_GT((*cuda)->ledger().bytes("cuda0", Purpose::kActivations), 0U);
    EXPECT_EQ((*cuda)->ledger().bytes("cpu0", Purpose::kActivations), 0U);
    double squares = 0, count = 0, largest_gap = 0;
    for (int i = 0; i < kTokens; ++i) {
      const auto found_span = (*cuda)->append(tokens), expected_span = (*cpu)->append(tokens);
      ASSERT_TRUE(found_span) << found_span.error().message();
      ASSERT_TRUE(expected_span) << expected_span.error().message();
      const Logits found(found_span->begin(), found_span->end());
      const Logits expected(expected_span->begin(), expected_span->end());
      ASSERT_LT(distance(found, expected), error) << "token " << i;
      const auto best = static_cast<std::size_t>(likeliest(expected));
      const auto other = static_cast<std::size_t>(likeliest(found));
      largest_gap = std::max(largest_gap, double{expected[best]} - expected[other]);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const double apart = double{found[k]} - expected[k];
        squares += apart * apart;
      }
      count += static_cast<double>(expected.size());
      tokens = {static_cast<std::int32_t>(best)};
    }
    EXPECT_LE(largest_gap, std::sqrt(squares / count));
  }

  /// Each device rounds the other operand of quantised weights to 8 bits in blocks of its own.
  static constexpr double kRounding = 2e-3;

  std::unique_ptr<Registry> registry_;
};

TEST_F(CudaText, OfTheDefaultModelIsThatOfTheCpu) {
  compare(stories().path, stories(), kRounding);
}

class CudaTextOfTypes : public CudaText, public testing::WithParamInterface<const char*> {};

TEST_P(CudaTextOfTypes, OfStories260KIsThatOfTheCpu) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const Stories told = stories_260k();
  const TempFolder folder;
  std::string path = told.path;
  const bool is_plain = std::string_view(GetParam()) == "F32";
  if (!is_plain) {
    path = folder.file("model.gguf");
    const RunResult made = run_command({"quantize", told.path, path, GetParam()});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  compare(path, told, is_plain ? 1e-6 : kRounding);
}

INSTANTIATE_TEST_SUITE_P(Types, CudaTextOfTypes,
                         testing::Values("F32", "Q8_0", "Q4_0", "Q4_K", "IQ4_NL"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace shunt::test::cuda_text_test
