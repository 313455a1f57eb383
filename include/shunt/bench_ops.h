/// \file
/// Measuring ops in shapes of language models on one device, beside the rate that the device
/// allows.
///
/// \code
/// SHUNT_ASSIGN(const auto devices, select_with_cpu(*registry, {}));
/// SHUNT_ASSIGN(const OpsBenchReport report,
///              bench_ops(devices, {.types = {DType::kQ4_0}, .ops = {"matmul"}}));
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/peaks.h"

namespace shunt {

struct OpsBenchRequest {
  std::vector<DType> types = {};           ///< of weights; none: all that weights can have
  std::vector<std::string_view> ops = {};  ///< of bench_op_names(); none: all
  std::int64_t width = 2048;               ///< rows and columns of the smaller weights
  double seconds = 0.2;                    ///< time that each case is measured, about
  /// Gets a line for each case that is left out, as soon as that is known; may be empty.
  std::function<void(std::string_view line)> log = {};
};

/// Ops that can be measured, sorted by name.
std::vector<std::string_view> bench_op_names();

/// Invalid for a width that is no multiple of 64, is above 32768, or of which a type does not have
/// whole blocks. Invalid for a type that weights can't have, and for an unknown op.
Status check_ops_bench(const OpsBenchRequest& request);

/// The time of one op in one shape.
struct OpTime {
  std::string_view op;
  DType dtype = DType::kF32;        ///< of weights or cache; else F32
  std::string shape = {};           ///< for people: "w [2048, 8192], n 32"
  double seconds = 0;               ///< of one node: the median
  double operations = 0;            ///< of one node
  double bytes = 0;                 ///< of one node, read and written
  std::optional<Bound> bound = {};  ///< the shortest time that the peaks allow; none without peaks

  /// Shortest time by measured time: 1 is the limit. 0 if there is no limit.
  double share() const;
};

struct OpsBenchReport {
  DeviceInfo device;
  std::optional<DevicePeaks> peaks;  ///< none if the device can't measure them
  std::vector<OpTime> ops;
};

/// Measures each op through an ordinary plan, with leaves that no cache holds. `devices`: the
/// device to measure, and the CPU behind it if it is none. Nothing else should run meanwhile.
/// Unsupported for a twin; Invalid as check_ops_bench(); OutOfMemory or Device.
Result<OpsBenchReport> bench_ops(std::span<Device* const> devices, const OpsBenchRequest& request);

}  // namespace shunt
