#include "shunt/peaks.h"

#include <algorithm>
#include <vector>

#include "base/enum_table.h"
#include "base/guarded.h"
#include "shunt/message.h"
#include "shunt/statistics.h"

namespace shunt {

std::string_view to_string(Peak peak) {
  static constexpr std::array<std::string_view, kPeaks.size()> kNames = {"read", "int8", "bf16",
                                                                         "F32"};
  return name_in(kNames, peak);
}

Result<std::unique_ptr<PeakMeter>> Device::open_peak_meter(int) {
  return fail(ErrorCode::kUnsupported, "{} has no measurement of its peak rates", name());
}

Result<DevicePeaks> measure_peaks(PeakMeter& meter, double seconds) {
  constexpr int kTimes = 5;
  return guarded([&]() -> Result<DevicePeaks> {
    DevicePeaks peaks;
    peaks.threads = meter.threads();
    for (const Peak peak : kPeaks) {
      PeakRate rate;
      std::vector<double> rates;
      for (int time = 0; time < kTimes; ++time) {
        SHUNT_ASSIGN(rate, meter.measure(peak, seconds / (kTimes * kPeaks.size())));
        rates.push_back(rate.per_second);
      }
      rate.per_second = peak == Peak::kRead ? summarize(rates).median : summarize(rates).high;
      peaks.rates[static_cast<std::size_t>(peak)] = std::move(rate);
    }
    return peaks;
  });
}

Peak peak_for(DType dtype) {
  const DTypeTrait& type = trait(dtype);
  if (type.quantized || type.integer) return Peak::kInt8;
  return dtype == DType::kBF16 ? Peak::kBf16 : Peak::kF32;
}

Bound bound_of(const Amounts& work, const DevicePeaks& peaks) {
  const auto seconds = [&](Peak peak) {
    const double rate = peaks[peak].per_second;
    return rate > 0 ? work[static_cast<std::size_t>(peak)] / rate : 0;
  };
  double arithmetic = 0;
  Peak longest = Peak::kF32;
  for (const Peak peak : kPeaks) {
    if (peak == Peak::kRead) continue;
    arithmetic += seconds(peak);
    if (seconds(peak) > seconds(longest)) longest = peak;
  }
  const double reading = seconds(Peak::kRead);
  return reading >= arithmetic ? Bound{reading, Peak::kRead} : Bound{arithmetic, longest};
}

std::vector<int> thread_counts(int most) {
  constexpr int kAllUpTo = 4;
  std::vector<int> counts;
  for (int count = 1; count < most; count = count < kAllUpTo ? count + 1 : 2 * count) {
    counts.push_back(count);
  }
  if (most > 0) counts.push_back(most);
  return counts;
}

}  // namespace shunt
