// Functions whose bits are the same on every machine. Expected values are from mpmath, 40 digits.
#include "common/reals.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

struct Point {
  double x, expected;
};
constexpr Point kExp[] = {{-700.0, 9.8596765437597708567e-305},
                          {-50.5, 1.1698459177061964686e-22},
                          {-1.0, 0.3678794411714423216},
                          {-9.313225746154785e-10, 0.99999999906867742582},
                          {0.0, 1.0},
                          {9.313225746154785e-10, 1.000000000931322575},
                          {0.3, 1.349858807576003089},
                          {1.0, 2.7182818284590452354},
                          {3.14159, 23.140631226954960448},
                          {88.7, 3.3259869802505790386e+38},
                          {700.0, 1.0142320547350045095e+304}};
constexpr Point kLog[] = {{5e-324, -744.44007192138126231},
                          {1e-310, -713.8013788281541651},
                          {2.2250738585072014e-308, -708.39641853226410622},
                          {1e-05, -11.512925464970228338},
                          {0.5, -0.69314718055994530942},
                          {0.999, -0.0010005003335835343892},
                          {1.0, 0.0},
                          {1.0000001, 9.9999995058387045178e-8},
                          {1.5, 0.40546510810816438198},
                          {10.0, 2.302585092994045684},
                          {1e+300, 690.77552789821370526}};
constexpr Point kTanh[] = {{1e-05, 9.9999999996666674847e-6},
                           {0.0001, 0.000099999999666666672792},
                           {0.1, 0.099667994624955822614},
                           {-0.5, -0.4621171572600097585},
                           {2.0, 0.96402758007581688395},
                           {-19.0, -0.99999999999999993722},
                           {25.0, 1.0}};
constexpr Point kSigmoid[] = {
    {-700.0, 9.8596765437597708567e-305}, {-30.0, 9.3576229688392989538e-14},
    {-2.0, 0.11920292202211755594},       {0.0, 0.5},
    {0.5, 0.62245933120185456464},        {3.0, 0.95257412682243321912},
    {40.0, 0.99999999999999999575}};
constexpr Point kGelu[] = {{-5.0, -2.2917961967685829027e-7}, {-1.0, -0.15880800939252308146},
                           {-0.5, -0.15428599017516516442},   {0.0, 0.0},
                           {0.5, 0.34571400982483483558},     {1.0, 0.84119199060747691854},
                           {3.0, 2.9963626079181393869}};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <std::size_t kCount>
void expect_points(double (*f)(double), const Point (&points)[kCount], double relative,
                   double absolute) {
  for (const Point& point : points)
    EXPECT_NEAR(f(point.x), point.expected,
                relative * std::fabs(point.expected) + absolute * std::fabs(point.x))
        << point.x;
}

TEST(TwinReals, MatchExactValues) {
  expect_points(twin::exp_of, kExp, 4e-15, 0);
  expect_points(twin::log_of, kLog, 4e-15, 0);
  expect_points(twin::tanh_of, kTanh, 2e-12, 0);
  expect_points(twin::sigmoid_of, kSigmoid, 4e-15, 0);
  expect_points(twin::gelu_of, kGelu, 0, 1e-15);
}

TEST(TwinReals, MatchLimitsAtTheEndsOfTheirRanges) {
  EXPECT_EQ(twin::exp_of(std::nextafter(700.0, 701.0)), kInfinity);
  EXPECT_EQ(twin::exp_of(std::nextafter(-700.0, -701.0)), 0);
  EXPECT_EQ(twin::exp_of(kInfinity), kInfinity);
  EXPECT_EQ(twin::exp_of(-kInfinity), 0);
  EXPECT_EQ(twin::log_of(0.0), -kInfinity);
  EXPECT_EQ(twin::log_of(-0.0), -kInfinity);
  EXPECT_EQ(twin::log_of(kInfinity), kInfinity);
  EXPECT_EQ(twin::log_of(1.0), 0);
  EXPECT_EQ(twin::tanh_of(kInfinity), 1);
  EXPECT_EQ(twin::tanh_of(-20.0), -1);
  EXPECT_TRUE(std::signbit(twin::tanh_of(-0.0)));
  EXPECT_EQ(twin::sigmoid_of(-kInfinity), 0);
  EXPECT_EQ(twin::sigmoid_of(kInfinity), 1);
}

TEST(TwinReals, PropagateNaN) {
  EXPECT_TRUE(std::isnan(twin::log_of(-std::numeric_limits<double>::denorm_min())));
  EXPECT_TRUE(std::isnan(twin::log_of(-kInfinity)));
  for (double (*f)(double) :
       {twin::exp_of, twin::log_of, twin::tanh_of, twin::sigmoid_of, twin::gelu_of})
    EXPECT_TRUE(std::isnan(f(kNan)));
}

TEST(TwinReals, RoundHalfAwayAndHalfEven) {
  const double halves[] = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994};
  const double away[] = {-3, -2, -1, 1, 2, 3, 0};
  const double even[] = {-2, -2, -0.0, 0, 2, 2, 0};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(twin::round_half_away(halves[i]), away[i]) << halves[i];
    EXPECT_EQ(twin::round_half_even(halves[i]), even[i]) << halves[i];
  }
  EXPECT_EQ(twin::round_half_even(2.500001), 3);
}

/// FNV-1a over the bits of results at 20,000 points from -100 to 100.
std::uint64_t digest(double (*f)(double)) {
  std::uint64_t sum = 14695981039346656037u;
  for (int i = -10000; i < 10000; ++i)
    sum = (sum ^ std::bit_cast<std::uint64_t>(f(i * 0.01))) * 1099511628211u;
  return sum;
}

// Computed with Python's floats in the same order. log gets the absolute value: which bits a NaN
// has is left to the machine.
TEST(TwinReals, BitsAreTheSameOnEveryMachine) {
  EXPECT_EQ(digest(twin::exp_of), 0x7E0CC26EF2D07558u);
  EXPECT_EQ(digest([](double x) { return twin::log_of(std::fabs(x)); }), 0x6D0AFE4743D316E3u);
  EXPECT_EQ(digest(twin::tanh_of), 0x80F3A1742CBC78A5u);
  EXPECT_EQ(digest(twin::sigmoid_of), 0x55BD6E390A158FCDu);
  EXPECT_EQ(digest(twin::gelu_of), 0x4F34EAEA95C95865u);
}

}  // namespace
