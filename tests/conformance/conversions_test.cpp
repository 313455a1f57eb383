// What becomes of a number in another type, on the CPU: bit for bit, for every pair of types.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/common/cases.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"
#include "support/tensor_io.h"

namespace shunt::test {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class Conversions : public testing::Test {
 protected:
  void SetUp() override {
    registry_ = std::move(*Registry::create({}));
    const auto cpu = registry_->find("cpu0");
    if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";
    cpu_ = *cpu;
  }

  /// n elements of a type, given as bytes, as another type.
  Result<Bytes> converted(DType from, const Bytes& bytes, DType to, std::int64_t n) {
    GraphBuilder g;
    SHUNT_ASSIGN(const Tensor source, make_tensor(from, {n}));
    SHUNT_ASSIGN(const Tensor target, make_tensor(to, {n}));
    const auto src = g.input("src", source);
    const auto dst = g.cache("dst", target);
    const auto copy = cpy(g, src, dst);
    SHUNT_TRY(g.output(copy, "copy"));
    SHUNT_ASSIGN(Graph built, std::move(g).build());
    const auto graph = std::make_shared<const Graph>(std::move(built));
    Placement placement;
    placement.devices = {cpu_};
    placement.decisions.assign(graph->size(), {0, Rule::kMemory, "the test says so", {}});
    const auto size = static_cast<std::size_t>(byte_span(target));
    SHUNT_ASSIGN(auto buffer, cpu_->memory().allocate(size));
    const std::vector<LeafMemory> memory = {{dst->id, {buffer.get(), 0}}};
    SHUNT_ASSIGN(auto plan,
                 compile(graph, std::move(placement), {.memory = memory, .steps_in_flight = 1}));
    SHUNT_ASSIGN(const auto input, plan->input(*src));
    std::ranges::copy(bytes, input.begin());
    SHUNT_TRY(plan->run());
    SHUNT_ASSIGN(const auto output, plan->output(*copy));
    return Bytes(output.begin(), output.end());
  }

  template <class To, class From>
  std::vector<To> values(DType from, const std::vector<From>& x, DType to) {
    const auto made = converted(from, bytes_of(x), to, static_cast<std::int64_t>(x.size()));
    EXPECT_TRUE(made) << made.error().message();
    return made ? values_of<To>(*made) : std::vector<To>();
  }

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

bool is_wide(DType type) {
  return trait(type).integer || type == DType::kF64;
}

TEST_F(Conversions, GoByWayOfF32WithTheTypesOwnEncoders) {
  constexpr std::int64_t kCount = 512;
  std::size_t pairs = 0;
  for (const DTypeTrait& from : dtypes()) {
    const Bytes bytes = make_bytes(source_of(from.dtype, {kCount, 1, 1, 1}), 3);
    std::vector<float> values(kCount);
    from.decode(bytes.data(), values.data(), kCount);
    for (const DTypeTrait& to : dtypes()) {
      if (to.encode == nullptr || to.dtype == from.dtype) continue;
      if (is_wide(from.dtype) && is_wide(to.dtype)) continue;
      Bytes expected(static_cast<std::size_t>(byte_span(*make_tensor(to.dtype, {kCount}))));
      to.encode(values.data(), expected.data(), kCount);
      const auto made = converted(from.dtype, bytes, to.dtype, kCount);
      ASSERT_TRUE(made) << made.error().message();
      EXPECT_EQ(*made, expected) << from.name << " to " << to.name;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 700U);
}

TEST_F(Conversions, OfATypeToItselfKeepEveryBit) {
  for (const DTypeTrait& type : dtypes()) {
    const Bytes bytes = make_bytes(source_of(type.dtype, {512, 1, 1, 1}), 4);
    const auto made = converted(type.dtype, bytes, type.dtype, 512);
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(*made, bytes) << type.name;
  }
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr auto kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax64 = std::numeric_limits<std::int64_t>::max();

TEST_F(Conversions, BetweenIntegersLoseNoDigitAndSaturate) {
  using I64 = std::vector<std::int64_t>;
  using I32 = std::vector<std::int32_t>;
  EXPECT_EQ(
      values<std::int32_t>(DType::kI64, I64{16777217, kMax64, kMin64, -2147483648}, DType::kI32),
      (I32{16777217, 2147483647, -2147483648, -2147483648}));
  EXPECT_EQ(values<std::int64_t>(DType::kI32, I32{16777217, -2147483648}, DType::kI64),
            (I64{16777217, -2147483648}));
  EXPECT_EQ(values<std::int8_t>(DType::kI32, I32{127, 128, -128, -129, 256}, DType::kI8),
            (std::vector<std::int8_t>{127, 127, -128, -128, 127}));
  EXPECT_EQ(values<std::int16_t>(DType::kI8, std::vector<std::int8_t>{-128, 127}, DType::kI16),
            (std::vector<std::int16_t>{-128, 127}));
}

TEST_F(Conversions, OfF64ToIntegersRoundToEvenAndSaturate) {
  const std::vector<double> x = {0.5, 1.5, 2.5, -0.5, -1.5, 16777217, kNan, kInf, -kInf, 1e300};
  EXPECT_EQ(values<std::int64_t>(DType::kF64, x, DType::kI64),
            (std::vector<std::int64_t>{0, 2, 2, 0, -2, 16777217, 0, kMax64, kMin64, kMax64}));
  EXPECT_EQ(values<std::int8_t>(DType::kF64, x, DType::kI8),
            (std::vector<std::int8_t>{0, 2, 2, 0, -2, 127, 0, 127, -128, 127}));
  // The largest double below 2^63, and 2^63 itself.
  EXPECT_EQ(values<std::int64_t>(DType::kF64, std::vector<double>{0x1.fffffffffffffp62, 0x1p63},
                                 DType::kI64),
            (std::vector<std::int64_t>{9223372036854774784, kMax64}));
}

TEST_F(Conversions, OfIntegersToF64RoundOnlyBeyondItsDigits) {
  const std::vector<std::int64_t> x = {16777217, 9007199254740993, kMin64, kMax64};
  EXPECT_EQ(values<double>(DType::kI64, x, DType::kF64),
            (std::vector<double>{16777217, 9007199254740992, -0x1p63, 0x1p63}));
}

TEST_F(Conversions, OfF32ToIntegersAreDefinedForEveryNumber) {
  const std::vector<float> x = {0.5F,  1.5F,         NAN,    INFINITY, -INFINITY, 3e9F,
                                -3e9F, 2147483520.F, 127.5F, -128.5F,  1e-45F,    4194304.5F};
  EXPECT_EQ(values<std::int32_t>(DType::kF32, x, DType::kI32),
            (std::vector<std::int32_t>{0, 2, 0, 2147483647, -2147483648, 2147483647, -2147483648,
                                       2147483520, 128, -128, 0, 4194304}));
  EXPECT_EQ(values<std::int8_t>(DType::kF32, x, DType::kI8),
            (std::vector<std::int8_t>{0, 2, 0, 127, -128, 127, -128, 127, 127, -128, 0, 127}));
}

TEST_F(Conversions, OfWhatIsNotFiniteToBlocksGiveFiniteBlocks) {
  std::vector<float> x(256, 1.0F);
  x[3] = NAN;
  x[40] = INFINITY;
  x[100] = -INFINITY;
  for (const DTypeTrait& to : dtypes()) {
    if (!to.quantized || to.encode == nullptr) continue;
    const auto made = converted(DType::kF32, bytes_of(x), to.dtype, 256);
    ASSERT_TRUE(made) << made.error().message();
    std::vector<float> back(256);
    to.decode(made->data(), back.data(), 256);
    for (const float each : back) ASSERT_TRUE(std::isfinite(each)) << to.name;
  }
}

}  // namespace
}  // namespace shunt::test
