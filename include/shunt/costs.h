// How long things take on devices: predicted seconds of a node and of a transfer, measured
// (`shunt bench --save-costs FILE`, calibrate()) or, until then, estimated by the kind of device.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/graph.h"

namespace shunt {

/// Measured seconds of one node of an op on a device:
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

/// The measured cost of a copy between the host's memory and that of a device.
struct CopyCost {
  std::string device;
  std::string description;
  bool to_device = true;
  TransferCost cost;
};

/// Const use from many threads. Empty, it has estimates for everything.
class CostModel {
 public:
  /// NotFound or Io. BadFile, naming the place, for a file that is no costs file, or has a number
  /// that is no number of seconds.
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

  /// Where the entries of the device come from, if not from the file that was read.
  void set_origin(const std::string& device, std::string origin) {
    origins_[device] = std::move(origin);
  }
  /// Whether a device has entries.
  bool has(const DeviceInfo& device) const;
  /// Describes where the predicted times of a device come from: "costs file costs.json", "measured
  /// on 2026-11-23, kept in FILE", "estimate for its kind of device".
  std::string origin(const DeviceInfo& device) const;

  /// Seconds that a node takes on a device, at the extents' maximum; 0 for leaves and views.
  double seconds(const Graph& graph, NodeId node, const DeviceInfo& device) const;
  /// A copy from one device's memory to another's; between two that are not the host, through it.
  TransferCost transfer(const DeviceInfo& from, const DeviceInfo& to) const;

 private:
  const OpCost* find(std::string_view op, DType dtype, const DeviceInfo& device) const;
  TransferCost host_copy(const DeviceInfo& device, bool to_device) const;

  std::vector<OpCost> ops_;
  std::vector<CopyCost> copies_;
  std::string file_;                            ///< that it was read from
  std::map<std::string, std::string> origins_;  ///< by name of the device
};

/// How costs are measured.
struct MeasureOptions {
  std::int64_t width = 4096;  ///< rows and columns of the largest matrices, a multiple of 64
  double seconds = 0.05;      ///< that each measurement takes, about
  std::size_t chain = 64;     ///< nodes that are run one after another, at most
  double bytes = 128e6;       ///< that a chain bound by memory reads: more than caches hold
  /// That one run takes at most, about: fewer nodes and columns on a device that is slow.
  double run_seconds = std::numeric_limits<double>::infinity();
  /// On the clock: from then on nothing is run more often than a result needs.
  double deadline = std::numeric_limits<double>::infinity();
  std::function<double()> now = {};  ///< the clock; null: the real one
};
/// Invalid for a width that is none.
Status check_measure_options(const MeasureOptions& options);

struct Measured {
  CostModel costs;
  std::vector<std::string> notes;  ///< the parts that were left out, and why
};

/// Measures products of matrices for each type of weights, attention, an elementwise op that stands
/// for all others, and copies. Twins are left out: their time means nothing. Nothing else should
/// run meanwhile.
Result<Measured> measure_costs(std::span<Device* const> devices,
                               const MeasureOptions& options = {});

/// How devices without measured costs get them.
struct CalibrateOptions {
  std::string folder;         ///< where they are kept for later processes; empty: nowhere
  std::string settings = {};  ///< of the backends: others are measured again
  /// Seconds of measuring, for all devices. An op is left out that would end later if it took as
  /// long as the longest before it.
  double budget = 0.45;
  /// The clock, and the measurement of an op of a type on a device: for tests. Null: the real ones.
  std::function<double()> now = {};
  std::function<Result<OpCost>(Device&, std::string_view op, DType)> measure = {};
};

/// Costs of the ops that decide how long the graphs take, for each device that is no twin. They are
/// read from the folder, or else measured once and written there, rounded to two digits. An entry
/// there is of one machine, one device, one build of Shunt and its settings, and at most 30 days
/// old. Folders and files that can't be read or written are notes. An op is measured on all devices
/// or on none. Without the time for it, several devices get estimates, and a single one the costs
/// of another op, with a note.
/// `devices`: the CPU last. Nothing else should run meanwhile.
Measured calibrate(std::span<Device* const> devices, std::span<const Graph* const> graphs,
                   const CalibrateOptions& options);

}  // namespace shunt
