// Caches of every type. The results of a session with them hardly differ from those with F32,
// whether heads are whole blocks or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ops/common/cache_types.h"
#include "shunt/engine.h"
#include "support/models.h"

namespace shunt::test::engine_cache_types_test {
namespace {

using ::testing::HasSubstr;

class EngineCacheTypes : public testing::Test {
 protected:
  std::shared_ptr<const Model> load(const SynthOptions& options) {
    files_.push_back(std::make_unique<SynthModel>(options));
    auto model = Model::load(files_.back()->path(), *registry_);
    EXPECT_TRUE(model) << model.error().message();
    return *model;
  }

  /// Logits after 20 tokens at once and 3 single ones.
  static std::vector<double> logits(const std::shared_ptr<const Model>& model, DType type) {
    auto session = Session::create(model, {.context = 64, .cache_type = type});
    EXPECT_TRUE(session) << session.error().message();
    std::vector<std::int32_t> tokens(20);
    std::iota(tokens.begin(), tokens.end(), 100);
    std::vector<double> all;
    for (int step = 0; step < 4; ++step) {
      const auto last = (*session)->append(tokens);
      EXPECT_TRUE(last) << last.error().message();
      all.insert(all.end(), last->begin(), last->end());
      tokens = {200 + step};
    }
    return all;
  }

  static double nmse(const std::vector<double>& a, const std::vector<double>& b) {
    double off = 0;
    double all = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      off += (a[i] - b[i]) * (a[i] - b[i]);
      all += b[i] * b[i];
    }
    return off / all;
  }

  std::unique_ptr<Registry> registry_ = *Registry::create(Options());
  std::vector<std::unique_ptr<SynthModel>> files_;
};

TEST_F(EngineCacheTypes, ChangeLogitsByTheirRoundingOnly) {
  // Normalised mean square errors of rounding normally distributed numbers: of n bits (11 and 8)
  // 2^-2n / 7, of blocks see docs/reference/formats.md. Two layers and a softmax make more of it,
  // but not ten times as much.
  const std::pair<DType, double> kRounding[] = {{DType::kF32, 0},
                                                {DType::kF16, 3.4e-8},
                                                {DType::kBF16, 2.2e-6},
                                                {DType::kQ8_0, 2.8e-5},
                                                {DType::kQ4_0, 7.3e-3}};
  ASSERT_EQ(std::size(kRounding), kCacheTypes.size());
  for (const std::int64_t heads : {2, 4}) {  // of 32, a block, and of 16
    SynthOptions shape;
    shape.heads = heads;
    const auto model = load(shape);
    const std::vector<double> exact = logits(model, DType::kF32);
    for (const auto& [type, rounding] : kRounding) {
      const double error = nmse(logits(model, type), exact);
      EXPECT_LE(error, 10 * rounding) << heads << " " << to_string(type);
      EXPECT_EQ(error == 0, type == DType::kF32) << heads << " " << to_string(type);
    }
  }
}

TEST_F(EngineCacheTypes, RejectBlocksThatKeysDoNotFill) {
  SynthOptions shape;
  shape.width = 32;  // 2 heads of 8
  const auto model = load(shape);
  const auto session = Session::create(model, {.context = 64, .cache_type = DType::kQ8_0});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(
      session.error().message(),
      HasSubstr("a cache of type Q8_0 has rows of whole blocks of 32, but the keys of layer "
                "0 have 16 elements"));
}

}  // namespace
}  // namespace shunt::test::engine_cache_types_test
