// The largest errors of gpu/math.h on the twin, against double precision: of a million arguments
// of each function, and all special ones.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "backend_support/device_health.h"
#include "backends/cuda/driver.h"
#include "support/cuda_twin.h"

namespace shunt::cuda {
extern const char* const k_math_kernels_base;
}  // namespace shunt::cuda

namespace shunt::test::cuda_math_test {
namespace {

using cuda::Symbols;
using testing::IsEmpty;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
constexpr float kNormal = std::numeric_limits<float>::min();
constexpr std::size_t kHalf = 500'000;
/// Some argument must have so much of the stated error.
constexpr double kTight = 0.8;

/// With both signs. The last ones are the floats nearest to a multiple of pi / 2, and those next
/// to where results begin to overflow, to be subnormal, or to be 0.
constexpr float kSpecial[] = {0,
                              kSmallest,
                              kNormal - kSmallest,
                              kNormal,
                              kNormal + kSmallest,
                              0.5F,
                              1,
                              1.0000001F,
                              0.99999994F,
                              2,
                              3,
                              16777215,
                              32768,
                              8388607.5F,
                              kLargest,
                              kInfinity,
                              kNan,
                              0x1.f3780ap+95F,
                              0x1.921fb6p+0F,
                              0x1.921fb6p+1F,
                              88.72283F,
                              88.72284F,
                              87.33654F,
                              87.33655F,
                              103.97207F,
                              103.97208F,
                              103.27893F,
                              9.194549F,
                              10.0541935F,
                              10.0541945F,
                              17.328679F,
                              127,
                              128,
                              149,
                              150};

/// In units of the last place of `exact`, a half for the nearest float at most. An infinite result
/// counts as 2^128.
double error_of(float computed, double exact) {
  if (std::isnan(exact)) return std::isnan(computed) ? 0 : kInfinity;
  if (std::isnan(computed)) return kInfinity;
  if (std::isinf(exact)) return computed == static_cast<float>(exact) ? 0 : kInfinity;
  const auto bounded = std::min(std::abs(exact), double{kLargest});
  const int exponent = std::max(std::ilogb(std::max(bounded, double{kNormal})), -126);
  const double value =
      std::isinf(computed) ? std::copysign(0x1p128, double{computed}) : double{computed};
  // From the largest float and a half on, infinite is the nearest.
  if (std::isinf(computed) && std::abs(exact) >= 0x1.ffffffp127) return 0;
  return std::abs(value - exact) / std::ldexp(1.0, exponent - 23);
}

class CudaMath : public testing::Test {
 protected:
  void SetUp() override {
    if (!twin_.there()) GTEST_SKIP() << "there is no twin of CUDA's driver in this build";
    if (cuda::k_math_kernels_base == nullptr) GTEST_SKIP() << "this build has no CUDA kernels";
    twin_.restart();
    auto driver = cuda::Driver::open(twin_.options());
    ASSERT_TRUE(driver) << driver.error().message();
    auto context = cuda::Context::create(*driver, 0, std::make_shared<DeviceHealth>("cuda0"));
    ASSERT_TRUE(context) << context.error().message();
    context_ = *context;
    ok(context_->call<&Symbols::module_load_data>(
        &module_, static_cast<const void*>(cuda::k_math_kernels_base), 0U,
        static_cast<cuda::JitOption*>(nullptr), static_cast<void**>(nullptr)));
  }
  void TearDown() override {
    if (module_ != nullptr) ok(context_->call<&Symbols::module_unload>(module_));
    if (!twin_.there()) return;
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }

  /// The results of a kernel of math_kernels.cu.
  std::vector<float> run(const std::string& kernel, const std::vector<float>& arguments,
                         std::size_t results) {
    constexpr unsigned kBlocks = 64, kThreads = 256;
    std::vector<float> y(results);
    const std::size_t x_bytes = arguments.size() * sizeof(float), y_bytes = results * sizeof(float);
    cuda::FunctionHandle function = nullptr;
    cuda::DevicePointer x_at = 0, y_at = 0;
    ok(context_->call<&Symbols::module_get_function>(&function, module_, kernel.c_str()));
    ok(context_->call<&Symbols::mem_alloc>(&x_at, x_bytes));
    ok(context_->call<&Symbols::mem_alloc>(&y_at, y_bytes));
    ok(context_->write(x_at, arguments.data(), x_bytes));
    auto count = static_cast<std::int64_t>(results);
    std::array<void*, 3> parameters = {&x_at, &y_at, &count};
    ok(context_->call<&Symbols::launch_kernel>(function, kBlocks, 1U, 1U, kThreads, 1U, 1U, 0U,
                                               static_cast<cuda::StreamHandle>(nullptr),
                                               parameters.data(), static_cast<void**>(nullptr)));
    ok(context_->call<&Symbols::stream_synchronize>(static_cast<cuda::StreamHandle>(nullptr)));
    ok(context_->read(y.data(), y_at, y_bytes));
    ok(context_->call<&Symbols::mem_free>(x_at));
    ok(context_->call<&Symbols::mem_free>(y_at));
    return y;
  }

 private:
  static void ok(const Status& status) { ASSERT_TRUE(status) << status.error().message(); }

  CudaTwin twin_;
  std::shared_ptr<cuda::Context> context_;
  cuda::ModuleHandle module_ = nullptr;
};

/// A function, a range where its errors are large, for half of the arguments, and the largest
/// error.
struct Function {
  const char* name;
  double (*exact)(double);
  double low, high;
  double bound;
};
void PrintTo(const Function& function, std::ostream* out) {
  *out << function.name;
}

const Function kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, -7, 7, 1.1},
    {"expm1", [](double x) { return std::expm1(x); }, 0.34, 0.36, 1.7},
    {"log", [](double x) { return std::log(x); }, 0.5, 1.5, 0.9},
    {"log1p", [](double x) { return std::log1p(x); }, -0.5, 0.5, 0.9},
    {"sin", [](double x) { return std::sin(x); }, 0.5, 2.5, 0.9},
    {"cos", [](double x) { return std::cos(x); }, 0.5, 2.5, 0.9},
    {"tanh", [](double x) { return std::tanh(x); }, 0.5, 0.7, 1.5},
    {"erf", [](double x) { return std::erf(x); }, 0.8, 1, 1.2},
    {"erfc", [](double x) { return std::erfc(x); }, 1, 3, 3.9},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -5, 0, 2.5},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }, -5, 0, 3.4},
    {"gelu",
     [](double x) {
       const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
       return x * (2 / (1 + std::exp(-2 * u))) / 2;
     },
     -3, 0, 3.5},
    {"gelu_erf", [](double x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }, -12, 0, 4.7},
    {"gelu_quick", [](double x) { return x / (1 + std::exp(-1.702 * x)); }, -8, 0, 3.4},
};

class CudaMathOfOne : public CudaMath, public testing::WithParamInterface<Function> {};

TEST_P(CudaMathOfOne, HasTheStatedError) {
  const Function& function = GetParam();
  std::vector<float> arguments;
  for (const float x : kSpecial) arguments.insert(arguments.end(), {x, -x});
  for (std::size_t i = 0; i < kHalf; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / kHalf;
    // All exponents alike, then the range.
    arguments.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(part * 0x1p32)));
    arguments.push_back(static_cast<float>(function.low + part * (function.high - function.low)));
  }
  const std::vector<float> computed =
      run(function.name + std::string("_of_each"), arguments, arguments.size());
  double worst = 0;
  float where = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const double exact = function.exact(arguments[i]);
    const double error = error_of(computed[i], exact);
    if (!(error <= worst)) {
      worst = error;
      where = arguments[i];
    }
    if (exact == 0 && computed[i] == 0) {
      EXPECT_EQ(std::signbit(computed[i]), std::signbit(exact)) << arguments[i];
    }
  }
  EXPECT_LE(worst, function.bound) << "at " << where;
  EXPECT_GT(worst, kTight * function.bound) << "the bound is loose";
}

INSTANTIATE_TEST_SUITE_P(, CudaMathOfOne, testing::ValuesIn(kFunctions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(CudaMath, PowHasTheStatedError) {
  constexpr double kBound = 0.51;
  std::vector<float> pairs;
  for (const float x : kSpecial) {
    for (const float y : kSpecial) pairs.insert(pairs.end(), {x, y, x, -y, -x, y, -x, -y});
  }
  std::mt19937 random(1);
  for (std::size_t i = 0; i < kHalf; ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto y = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    pairs.insert(pairs.end(), {x, y});
    // A result that no float is too small or too large for.
    const double log_of_result = 210 * (static_cast<double>(random()) * 0x1p-32) - 110;
    pairs.insert(pairs.end(),
                 {std::abs(x), static_cast<float>(log_of_result / std::log(std::abs(double{x})))});
  }
  const std::vector<float> computed = run("pow_of_each", pairs, pairs.size() / 2);
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double exact = std::pow(double{pairs[2 * i]}, double{pairs[2 * i + 1]});
    const double error = error_of(computed[i], exact);
    if (!(error <= worst)) {
      worst = error;
      where = i;
    }
    if (exact == 0 && computed[i] == 0) {
      EXPECT_EQ(std::signbit(computed[i]), std::signbit(exact)) << pairs[2 * i];
    }
  }
  EXPECT_LE(worst, kBound) << "at " << pairs[2 * where] << ", " << pairs[2 * where + 1];
  EXPECT_GT(worst, kTight * kBound) << "the bound is loose";
}

}  // namespace
}  // namespace shunt::test::cuda_math_test
