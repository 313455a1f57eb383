/// \file
/// Costs of devices: predicted seconds of a node and of a transfer, measured (`shunt bench costs`,
/// calibrate()) or, until then, estimated by the kind of device. Include it to give
/// PlaceOptions::costs or PlacementPolicy::costs a model.
///
/// \code
/// SHUNT_ASSIGN(const Measured measured, measure_costs(registry->devices()));
/// SHUNT_TRY(measured.costs.save("costs.json"));
/// SHUNT_ASSIGN(const CostModel costs, CostModel::load("costs.json"));
/// \endcode
#pragma once

#include <algorithm>
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

/// The measured seconds of one node of an op on a device:
///   overhead + max(bytes * seconds_per_byte, arithmetic), with
///   arithmetic = min(bytes * unpack_seconds_per_byte + operations * seconds_per_operation,
///                    operations * few_seconds_per_operation).
/// Kernels for many columns unpack (dequantize) each weight once, whatever the number of columns.
/// With few columns a node computes at the rate measured with few.
struct OpCost {
  std::string device;         ///< its name, "cuda0"
  std::string description;    ///< of the device: other hardware of the same name is another device
  std::string op;             ///< "matmul"; kAnyOp for those that have no entry of their own
  DType dtype = DType::kF32;  ///< of the first of its sources that is neither F32 nor an integer
  double overhead = 0;
  double seconds_per_operation = 0;
  double seconds_per_byte = 0;
  double unpack_seconds_per_byte = 0;
  double few_seconds_per_operation = 0;  ///< 0: seconds_per_operation for all numbers of columns

  /// Seconds of a node with that much arithmetic, and that many bytes read.
  double seconds(double operations, double bytes) const {
    double arithmetic = bytes * unpack_seconds_per_byte + operations * seconds_per_operation;
    if (few_seconds_per_operation > 0)
      arithmetic = std::min(arithmetic, operations * few_seconds_per_operation);
    return overhead + std::max(bytes * seconds_per_byte, arithmetic);
  }
};
inline constexpr std::string_view kAnyOp = "*";

/// A copy of n bytes takes latency + n * seconds_per_byte.
struct TransferCost {
  double latency = 0;
  double seconds_per_byte = 0;
  /// Seconds of a copy.
  double seconds(double bytes) const { return latency + bytes * seconds_per_byte; }
};

/// The measured costs of copies between the host's memory and that of a device.
struct CopyCost {
  std::string device;
  std::string description;
  bool to_device = true;
  TransferCost cost;
};

/// Const use from many threads. Empty, it has estimates for everything.
class CostModel {
 public:
  /// NotFound or Io. BadFile, with the place, for a file that is no costs file or has a number that
  /// is no valid time.
  static Result<CostModel> load(const std::string& path);
  /// The same for a text; messages have `name` in place of the file.
  static Result<CostModel> parse(std::string_view text, const std::string& name);
  /// The text of such a file, JSON.
  std::string to_text() const;
  /// Replaces the file as a whole. After an error (Io) it is as before.
  Status save(const std::string& path) const;

  /// Adds an entry. Of several for one device, op and type the first counts.
  void add(OpCost cost) { ops_.push_back(std::move(cost)); }
  /// The same for copies.
  void add(CopyCost cost) { copies_.push_back(std::move(cost)); }
  /// The entries for ops. Valid until the next add().
  std::span<const OpCost> ops() const { return ops_; }
  /// The entries for copies. Valid until the next add().
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

  /// Seconds that a node takes on a device, at the dynamic dimensions' maximum; 0 for leaves and
  /// views.
  double seconds(const Graph& graph, NodeId node, const DeviceInfo& device) const;
  /// Seconds of a copy from one device's memory to another's; through the host if neither is the
  /// host.
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
  /// Rows and columns of the largest matrices, a multiple of 64. Products bound by arithmetic have
  /// at most 2048.
  std::int64_t width = 4096;
  double seconds = 0.05;   ///< approximate length of each measurement
  int runs = 3;            ///< smallest number of timed runs of each, after one warm-up
  std::size_t chain = 64;  ///< largest number of nodes that run one after another
  double bytes = 128e6;    ///< read by a chain that is bound by memory or has few columns
  /// About the longest time of a chain: slow devices get fewer nodes and columns. A single node
  /// with many columns may take twice that.
  double run_seconds = std::numeric_limits<double>::infinity();
  /// A time of the clock, after which nothing is repeated more often than a result needs.
  double deadline = std::numeric_limits<double>::infinity();
  std::function<double()> now = {};  ///< the clock; null: the real one
};
/// Invalid for a width that is not a multiple of 64 from 64 to 32768.
Status check_measure_options(const MeasureOptions& options);

/// The result of measure_costs() and calibrate().
struct Measured {
  CostModel costs;
  std::vector<std::string> notes;  ///< the measurements that were left out, with reasons
};

/// Measures products of matrices for each type of weights, attention, an elementwise op as the
/// model of all other ops, and copies. Twins are left out: their times are meaningless. Nothing
/// else should run meanwhile.
Result<Measured> measure_costs(std::span<Device* const> devices,
                               const MeasureOptions& options = {});

/// How devices without measured costs get them.
struct CalibrateOptions {
  std::string folder;         ///< where they are kept for later processes; empty: nowhere
  std::string settings = {};  ///< of the backends: others are measured again
  /// Seconds of measuring, for all devices, with allocating the memory for it. An op is left out
  /// that would end later if it took as long as the longest before it.
  double budget = 0.45;
  /// For tests; null: the real ones. The clock; and the measurement of an op of a type on a device.
  std::function<double()> now = {};
  std::function<Result<OpCost>(Device&, std::string_view op, DType)> measure = {};
  /// Called once for each device, before the first measurement of it: allocates its memory.
  std::function<void(Device&)> prepare = {};
};

/// Costs of the ops that decide how long the graphs take, for each device that is no twin. They are
/// read from the folder, or else measured once and written there, rounded to two digits. An entry
/// there is of one machine, one device, one build of Shunt and its settings, and at most 30 days
/// old. Folders and files that can't be read or written are notes. An op is measured on all devices
/// or on none. Without the time for it, its costs are predicted from those of the nearest op that
/// was measured on all devices, with a note, and a later process measures it.
/// `devices`: the CPU last. Nothing else should run meanwhile.
Measured calibrate(std::span<Device* const> devices, std::span<const Graph* const> graphs,
                   const CalibrateOptions& options);

}  // namespace shunt
