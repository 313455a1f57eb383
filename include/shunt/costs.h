// How long things take on devices: predicted seconds of a node and of a transfer, measured
// (`shunt bench --save-costs FILE`) or, until then, estimated by the kind of device.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/graph.h"

namespace shunt {

/// What an op was measured to take on a device, a node:
///   overhead + max(operations * seconds_per_operation, bytes * seconds_per_byte).
struct OpCost {
  std::string device;       ///< its name, "cuda0"
  std::string description;  ///< of the device: a cuda0 that is another piece of hardware is another
  std::string op;           ///< "matmul"; kAnyOp for those that have no entry of their own
  DType dtype = DType::kF32;  ///< of the first of its sources that is neither F32 nor an integer
  double overhead = 0;
  double seconds_per_operation = 0;
  double seconds_per_byte = 0;
};
inline constexpr std::string_view kAnyOp = "*";

/// A copy of n bytes takes latency + n * seconds_per_byte.
struct TransferCost {
  double latency = 0;
  double seconds_per_byte = 0;
  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
};

/// What a copy between the host's memory and that of a device was measured to take.
struct CopyCost {
  std::string device;
  std::string description;
  bool to_device = true;
  TransferCost cost;
};

/// Const use from many threads. Empty, it has estimates for everything.
class CostModel {
 public:
  /// NotFound or Io; BadFile, naming the place, for what is no file of costs or holds a number that
  /// is none of seconds.
  static Result<CostModel> load(const std::string& path);
  /// The same of a text; `name` stands for the file in messages.
  static Result<CostModel> parse(std::string_view text, const std::string& name);
  /// The text of such a file, JSON.
  std::string to_text() const;
  /// Io.
  Status save(const std::string& path) const;

  void add(OpCost cost) { ops_.push_back(std::move(cost)); }
  void add(CopyCost cost) { copies_.push_back(std::move(cost)); }
  std::span<const OpCost> ops() const { return ops_; }
  std::span<const CopyCost> copies() const { return copies_; }

  /// Seconds that a node takes on a device, at the extents' maximum; 0 for leaves and views.
  double seconds(const Graph& graph, NodeId node, const DeviceInfo& device) const;
  /// A copy from one device's memory to another's; between two that are not the host, through it.
  TransferCost transfer(const DeviceInfo& from, const DeviceInfo& to) const;

 private:
  const OpCost* find(std::string_view op, DType dtype, const DeviceInfo& device) const;
  TransferCost host_copy(const DeviceInfo& device, bool to_device) const;

  std::vector<OpCost> ops_;
  std::vector<CopyCost> copies_;
};

/// How costs are measured.
struct MeasureOptions {
  std::int64_t width = 4096;  ///< rows and columns of the largest matrices, a multiple of 64
  double seconds = 0.05;      ///< that each measurement takes, about
  std::size_t chain = 64;     ///< nodes that are run one after another, at most
};
/// Invalid for a width that is none.
Status check_measure_options(const MeasureOptions& options);

struct Measured {
  CostModel costs;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// Measures products of matrices for each type of weights, attention, an elementwise op that stands
/// for all others, and copies. Twins are left out: their time means nothing. Nothing else should
/// run meanwhile.
Result<Measured> measure_costs(std::span<Device* const> devices,
                               const MeasureOptions& options = {});

}  // namespace shunt
