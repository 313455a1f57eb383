/// \file
/// Measured peak rates of a device: the limits that results are compared with. Include it to tell
/// how close a program is to them.
///
/// \code
/// SHUNT_ASSIGN(const auto meter, device.open_peak_meter(0));
/// SHUNT_ASSIGN(const DevicePeaks peaks, measure_peaks(*meter));
/// std::cout << peaks[Peak::kRead].per_second / 1e9 << " GB/s\n";
/// \endcode
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// The kinds of limits.
enum class Peak : std::uint8_t {
  kRead,  ///< bytes a second, from memory that no cache holds
  kInt8,  ///< operations a second in dot products of 8-bit integers; a multiply-add is 2
  kBf16,  ///< the same of BF16, summed in F32
  kF32,   ///< multiply-adds of F32, the same way
};
inline constexpr std::array kPeaks = {Peak::kRead, Peak::kInt8, Peak::kBf16, Peak::kF32};
/// "read", "int8", "bf16", "F32".
std::string_view to_string(Peak peak);

/// A measured rate, and the unit of the processor that reached it.
struct PeakRate {
  double per_second = 0;
  std::string unit;  ///< the unit of the processor: "AVX-512 VNNI"
  /// The device has no unit for this peak, or none that its kernels use: another unit was measured.
  bool stands_in = false;
};

/// Measures a device's peaks. Belongs to one thread at a time; the device must outlive it, and
/// nothing else should run meanwhile. It may keep memory between measurements.
class PeakMeter {
 public:
  PeakMeter() = default;
  PeakMeter(const PeakMeter&) = delete;
  PeakMeter& operator=(const PeakMeter&) = delete;
  virtual ~PeakMeter() = default;

  /// Threads that measure; 1 where a device has no such thing.
  virtual int threads() const = 0;
  /// The mean over `seconds`. OutOfMemory if there is no memory to read; Unsupported for a kind
  /// that the device lacks; Io or Device.
  virtual Result<PeakRate> measure(Peak peak, double seconds) = 0;
};

/// Seconds that the benchmarks take to measure all peaks of a device.
inline constexpr double kPeakSeconds = 1;

/// All peaks of a device with a number of threads.
struct DevicePeaks {
  int threads = 0;
  std::array<PeakRate, kPeaks.size()> rates;

  /// The rate of a peak.
  const PeakRate& operator[](Peak peak) const { return rates[static_cast<std::size_t>(peak)]; }
};

/// Measures each peak several times, for a total of `seconds`. The result of arithmetic is the best
/// one, as other work can only slow it down. The result of reading, a sustained rate, is the
/// median.
Result<DevicePeaks> measure_peaks(PeakMeter& meter, double seconds = 0.5);

/// The peak that bounds products with weights of a type: int8 for block formats and integers, bf16
/// for BF16, F32 for all others.
Peak peak_for(DType dtype);

/// Amounts of work, in the order of kPeaks: bytes read, then operations by kind.
using Amounts = std::array<double, kPeaks.size()>;

/// The shortest time of some work, and the peak that bounds it. Reading overlaps with arithmetic.
/// Kinds of arithmetic run one after the other, and the one that takes longest is named. A peak
/// without a rate is no limit.
struct Bound {
  double seconds = 0;
  Peak peak = Peak::kRead;
};
/// The bound of an amount of work. 0 seconds for no work.
Bound bound_of(const Amounts& work, const DevicePeaks& peaks);

/// 1, 2, 3, 4, then powers of two, and `most` itself: how many threads are worth measuring.
std::vector<int> thread_counts(int most);

}  // namespace shunt
