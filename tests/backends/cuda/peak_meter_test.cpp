// The meter of peak rates. The twin counts the instructions and the bytes of each loop; no test
// looks at its times.
#include <gmock/gmock.h>

#include <cmath>

#include "backends/cuda/cuda_devices.h"
#include "shunt/peaks.h"

namespace shunt::test::cuda_peak_meter_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMemory = std::uint64_t{512} << 20;

class CudaPeakMeter : public CudaDevices {
 protected:
  Device& device() const { return **registry_->find("cuda0"); }
  std::unique_ptr<PeakMeter> open_meter() const {
    auto meter = device().open_peak_meter(0);
    EXPECT_TRUE(meter) << meter.error().message();
    return meter ? std::move(*meter) : nullptr;
  }
};

TEST_F(CudaPeakMeter, ReadsEachByteOncePerLaunchInWholeSectors) {
  const auto meter = open_meter();
  ASSERT_NE(meter, nullptr);
  EXPECT_EQ(meter->threads(), 1);
  const auto rate = meter->measure(Peak::kRead, 1e-6);
  ASSERT_TRUE(rate) << rate.error().message();
  EXPECT_GT(rate->per_second, 0);
  EXPECT_FALSE(rate->stands_in);
  const KernelCounts counts = twin_.counts("peak_read");
  ASSERT_GE(counts.launches, 1U);
  EXPECT_EQ(counts.bytes_read, counts.launches * kMemory);
  EXPECT_EQ(counts.sectors, counts.launches * kMemory / 32);
  EXPECT_EQ(counts.bytes_written, 0U);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

/// A peak, and the loop that measures it.
struct Arithmetic {
  Peak peak;
  const char* kernel;
  int kind;  ///< of its instructions: 0 is integer, 1 is float
  const char* unit;
  bool stands_in;
};

class CudaPeakArithmetic : public CudaPeakMeter, public testing::WithParamInterface<Arithmetic> {};

/// A batch has 32 rounds of eight instructions a thread; batches double until one takes 5 ms.
TEST_P(CudaPeakArithmetic, ExecutesEightInstructionsARound) {
  const auto& [peak, kernel, kind, unit, stands_in] = GetParam();
  const auto meter = open_meter();
  ASSERT_NE(meter, nullptr);
  const auto rate = meter->measure(peak, 1e-6);
  ASSERT_TRUE(rate) << rate.error().message();
  EXPECT_GT(rate->per_second, 0);
  EXPECT_THAT(rate->unit, testing::StartsWith(unit));
  EXPECT_EQ(rate->stands_in, stands_in);
  const KernelCounts counts = twin_.counts(kernel);
  ASSERT_GE(counts.launches, 1U);
  const double rounds = 32 * (std::pow(2.0, static_cast<double>(counts.launches)) - 1);
  const double warps = static_cast<double>(counts.blocks / counts.launches) * 256 / 32;
  const double expected = rounds * 8 * warps;
  const auto executed = static_cast<double>(counts.kinds[kind]);
  EXPECT_GE(executed, expected);
  EXPECT_LE(executed, 1.35 * expected);
  EXPECT_EQ(counts.bytes_written, 0U);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, CudaPeakArithmetic,
                         testing::Values(Arithmetic{Peak::kInt8, "peak_int8", 0, "dp4a", false},
                                         Arithmetic{Peak::kBf16, "peak_f32", 1, "FMA", true},
                                         Arithmetic{Peak::kF32, "peak_f32", 1, "FMA", false}),
                         [](const auto& test) { return std::string(to_string(test.param.peak)); });

TEST_F(CudaPeakMeter, RefusesADeviceWithoutMemoryToRead) {
  registry_.reset();
  twin_.set("CUDA_TWIN_MEMORY", std::to_string(kMemory / 2).c_str());
  twin_.restart();
  open();
  const auto meter = open_meter();
  ASSERT_NE(meter, nullptr);
  const auto rate = meter->measure(Peak::kRead, 1e-6);
  ASSERT_FALSE(rate);
  EXPECT_EQ(rate.error().code(), ErrorCode::kOutOfMemory);
}

TEST_F(CudaPeakMeter, ReportsMemoryThatTheDriverRefuses) {
  const auto meter = open_meter();
  ASSERT_NE(meter, nullptr);
  twin_.set("CUDA_TWIN_FAIL_ALLOCATION", "1");
  const auto rate = meter->measure(Peak::kRead, 1e-6);
  ASSERT_FALSE(rate);
  EXPECT_EQ(rate.error().code(), ErrorCode::kOutOfMemory);
}

TEST_F(CudaPeakMeter, ReportsTheErrorOfADevice) {
  const auto meter = open_meter();
  ASSERT_NE(meter, nullptr);
  twin_.set("CUDA_TWIN_FAIL_LAUNCH", "1");
  const auto rate = meter->measure(Peak::kF32, 1e-6);
  ASSERT_FALSE(rate);
  EXPECT_THAT(rate.error().message(), HasSubstr("CUDA_ERROR"));
}

}  // namespace
}  // namespace shunt::test::cuda_peak_meter_test
