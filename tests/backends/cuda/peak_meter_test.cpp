// The meter of peak rates. The twin's times mean nothing; its counts show what the loops do.
#include <gmock/gmock.h>

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
  EXPECT_EQ(counts.launches, 1U);
  EXPECT_EQ(counts.bytes_read, kMemory);
  EXPECT_EQ(counts.sectors, kMemory / 32);
  EXPECT_EQ(counts.bytes_written, 0U);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

TEST_F(CudaPeakMeter, MeasuresArithmetic) {
  const auto meter = open_meter();
  ASSERT_NE(meter, nullptr);
  struct Expected {
    Peak peak;
    const char* unit;
    bool stands_in;
  };
  for (const Expected& each :
       {Expected{Peak::kInt8, "dp4a", false}, Expected{Peak::kBf16, "FMA", true},
        Expected{Peak::kF32, "FMA", false}}) {
    const auto rate = meter->measure(each.peak, 1e-6);
    ASSERT_TRUE(rate) << rate.error().message();
    EXPECT_GT(rate->per_second, 0);
    EXPECT_EQ(rate->unit, each.unit);
    EXPECT_EQ(rate->stands_in, each.stands_in);
  }
  EXPECT_EQ(twin_.counts("peak_int8").bytes_written, 0U);
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

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
