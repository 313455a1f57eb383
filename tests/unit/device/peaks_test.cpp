// A device's peaks and the use that is made of them, with a scripted meter.
#include "shunt/peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scripted_meter.h"
#include "support/test_device.h"

namespace shunt::test::device_peaks_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DevicePeaks peaks_of(double read, double int8, double bf16, double f32) {
  DevicePeaks peaks;
  std::size_t next = 0;
  for (const double rate : {read, int8, bf16, f32}) peaks.rates[next++].per_second = rate;
  return peaks;
}

TEST(Peaks, ReadRateIsTheMedianAndArithmeticTheMaximum) {
  ScriptedMeter meter;
  meter.script = {{Peak::kRead, {40, 10, 60, 50, 20}},
                  {Peak::kInt8, {7, 9, 8, 7, 7}},
                  {Peak::kBf16, {4, 3, 3, 3, 3}},
                  {Peak::kF32, {1, 1, 1, 1, 2}}};
  const auto peaks = measure_peaks(meter, 2);
  ASSERT_TRUE(peaks) << peaks.error().message();
  EXPECT_EQ(peaks->threads, 3);
  EXPECT_EQ((*peaks)[Peak::kRead].per_second, 40);
  EXPECT_EQ((*peaks)[Peak::kInt8].per_second, 9);
  EXPECT_EQ((*peaks)[Peak::kBf16].per_second, 4);
  EXPECT_EQ((*peaks)[Peak::kF32].per_second, 2);
  EXPECT_EQ((*peaks)[Peak::kF32].unit, "script");
  EXPECT_NEAR(meter.seconds, 2, 1e-9);
}

TEST(Peaks, ErrorOfTheMeterIsReturned) {
  ScriptedMeter meter;
  meter.error = Error(ErrorCode::kOutOfMemory, "no memory to read");
  const auto peaks = measure_peaks(meter);
  ASSERT_FALSE(peaks);
  EXPECT_EQ(peaks.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(peaks.error().message(), "no memory to read");
}

TEST(Peaks, DeviceWithoutAMeterIsUnsupported) {
  TestDevice device({.name = "test7"});
  const auto meter = device.open_peak_meter(0);
  ASSERT_FALSE(meter);
  EXPECT_EQ(meter.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(meter.error().message(), HasSubstr("test7"));
}

TEST(Peaks, BoundIsTheMaximumOfReadingAndArithmetic) {
  const DevicePeaks peaks = peaks_of(50, 1000, 500, 250);
  // 100 bytes take 2 s; 1500 operations 1.5 s.
  const Bound reading = bound_of({100, 1500, 0, 0}, peaks);
  EXPECT_DOUBLE_EQ(reading.seconds, 2);
  EXPECT_EQ(reading.peak, Peak::kRead);
  // 1 s, 1 s and 0.5 s of arithmetic, one after the other.
  const Bound arithmetic = bound_of({100, 1000, 500, 125}, peaks);
  EXPECT_DOUBLE_EQ(arithmetic.seconds, 2.5);
  EXPECT_EQ(arithmetic.peak, Peak::kInt8);
  EXPECT_EQ(bound_of({0, 100, 2000, 100}, peaks).peak, Peak::kBf16);
  EXPECT_EQ(bound_of({0, 0, 0, 100}, peaks).peak, Peak::kF32);
}

TEST(Peaks, PeakWithoutARateIsIgnored) {
  const Bound bound = bound_of({100, 1000, 0, 0}, peaks_of(0, 500, 0, 0));
  EXPECT_DOUBLE_EQ(bound.seconds, 2);
  EXPECT_EQ(bound.peak, Peak::kInt8);
  EXPECT_EQ(bound_of({100, 1000, 0, 0}, DevicePeaks()).seconds, 0);
}

TEST(Peaks, WeightTypeSelectsTheArithmeticPeak) {
  for (const DType type : {DType::kQ4_0, DType::kQ8_0, DType::kQ6_K, DType::kIQ2_XS, DType::kI8}) {
    EXPECT_EQ(peak_for(type), Peak::kInt8) << to_string(type);
  }
  EXPECT_EQ(peak_for(DType::kBF16), Peak::kBf16);
  EXPECT_EQ(peak_for(DType::kF16), Peak::kF32);
  EXPECT_EQ(peak_for(DType::kF32), Peak::kF32);
}

TEST(Peaks, ThreadCountsAreOneToFourThenPowersOfTwoAndTheLast) {
  EXPECT_THAT(thread_counts(1), ElementsAre(1));
  EXPECT_THAT(thread_counts(2), ElementsAre(1, 2));
  EXPECT_THAT(thread_counts(4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(thread_counts(8), ElementsAre(1, 2, 3, 4, 8));
  EXPECT_THAT(thread_counts(24), ElementsAre(1, 2, 3, 4, 8, 16, 24));
  EXPECT_THAT(thread_counts(0), ElementsAre());
}

}  // namespace
}  // namespace shunt::test::device_peaks_test
