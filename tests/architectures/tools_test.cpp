// Every architecture can be made with random weights, quantized and computed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/to_size.h"
#include "model/architectures/list.h"
#include "shunt/engine.h"
#include "shunt/quantize.h"
#include "shunt/synth.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"

namespace shunt::test::architecture_tools_test {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Architecture& architecture : architectures()) all.emplace_back(architecture.name);
  return all;
}

class ArchitectureTools : public ::testing::TestWithParam<std::string> {
 protected:
  ArchitectureTools() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
    SynthOptions synth;
    synth.architecture = GetParam();
    synth.layers = 4;
    synth.width = 128;
    synth.feed_forward = 256;
    synth.vocabulary = kSessionVocabulary;
    synth.experts_used = 8;  // all: none is chosen by a rounding error
    if (!check_synth_options(synth)) synth.experts_used = 0;  // there are none
    const auto written = write_synth_model(path_, synth);
    EXPECT_TRUE(written) << written.error().message();
  }

  /// The results of the last of some tokens.
  std::vector<float> results(const std::string& path) {
    SessionOptions session;
    session.context = 64;
    LoadOptions load;
    load.session = session;
    const std::array devices = {registry_->devices().back()};
    const auto model = Model::load(path, devices, load);
    EXPECT_TRUE(model) << model.error().message();
    if (!model) return {};
    const auto made = Session::create(*model, session);
    EXPECT_TRUE(made) << made.error().message();
    if (!made) return {};
    const auto last = (*made)->append(some_tokens(24, 1));
    EXPECT_TRUE(last) << last.error().message();
    return last ? std::vector<float>(last->begin(), last->end()) : std::vector<float>();
  }

  TempFolder folder_;
  std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_;
};

/// The error relative to the variance of the results.
double relative_error(std::span<const float> a, std::span<const float> b) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += std::pow(double{a[i]} - b[i], 2);
    size += std::pow(double{b[i]}, 2);
  }
  return error / size;
}

/// Blocks of 8 bits are off by at most 1/254 of their largest number. Layers of noise make more of
/// that; a wrong product gives an error of about 1.
TEST_P(ArchitectureTools, QuantizedWeightsGiveNearlyTheSame) {
  const auto expected = results(path_);
  ASSERT_FALSE(expected.empty());
  for (const float x : expected) ASSERT_TRUE(std::isfinite(x));
  const std::string quantized = folder_.file("quantized.gguf");
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file) << file.error().message();
  const QuantizeOptions options = {.type = "Q8_0"};
  const auto plan = plan_quantization(*file, options);
  ASSERT_TRUE(plan) << plan.error().message();
  const auto done = write_quantized(quantized, *file, *plan, options);
  ASSERT_TRUE(done) << done.error().message();
  const auto computed = results(quantized);
  ASSERT_EQ(computed.size(), expected.size());
  EXPECT_LE(relative_error(computed, expected), 0.1);
  EXPECT_GT(relative_error(computed, expected), 0);
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  return recorded_name(info);
}

INSTANTIATE_TEST_SUITE_P(Architectures, ArchitectureTools, ::testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace shunt::test::architecture_tools_test
