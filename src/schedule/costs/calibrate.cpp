// Costs of devices that have no costs file: read from the cache, or else measured in a short time.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/to_size.h"
#include "graph/storage_users.h"
#include "schedule/costs/cache.h"
#include "schedule/costs/estimates.h"
#include "schedule/costs/measure.h"
#include "schedule/costs/work.h"
#include "shunt/costs.h"

namespace shunt {

namespace {

/// Two digits, so that a placement does not depend on noise.
double rounded(double seconds) {
  const std::string text = fmt::format("{:.1e}", seconds);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

OpCost rounded(OpCost cost) {
  for (double* seconds : {&cost.overhead, &cost.seconds_per_operation, &cost.seconds_per_byte,
                          &cost.unpack_seconds_per_byte, &cost.few_seconds_per_operation})
    *seconds = rounded(*seconds);
  return cost;
}

CopyCost rounded(CopyCost copy) {
  copy.cost = {rounded(copy.cost.latency), rounded(copy.cost.seconds_per_byte)};
  return copy;
}

/// The estimated cost of any op on the device, as an entry of one op.
OpCost estimated_cost(const DeviceInfo& device, const MeasuredOp& op) {
  const DeviceSpeed speed = estimate_of(device);
  return {.device = device.name,
          .description = device.description,
          .op = std::string(op.op),
          .dtype = op.dtype,
          .overhead = speed.launch_seconds,
          .seconds_per_operation = 1 / speed.operations_per_second,
          .seconds_per_byte = 1 / speed.bytes_per_second};
}

bool is_of_op(const OpCost& cost, const MeasuredOp& op) {
  return cost.op == op.op && cost.dtype == op.dtype;
}

/// The ops that the nodes of the graphs are measured by. Those with the largest share of a graph's
/// estimated time on the device come first. The op that models all other ops comes last.
std::vector<MeasuredOp> needed_ops(std::span<const Graph* const> graphs, const DeviceInfo& device) {
  const CostModel estimates;
  std::map<MeasuredOp, double> shares;
  for (const Graph* graph : graphs) {
    std::map<MeasuredOp, double> seconds;
    double total = 0;
    for (NodeId id = 0; id < graph->size(); ++id) {
      if (!is_computed(graph->node(id))) continue;
      const double one = estimates.seconds(*graph, id, device);
      seconds[measured_op(*graph, id)] += one;
      total += one;
    }
    // A graph of one token has the same weight as one of a whole batch.
    for (const auto& [op, taken] : seconds) shares[op] += total > 0 ? taken / total : 0;
  }
  std::vector<MeasuredOp> ops;
  ops.reserve(shares.size());
  for (const auto& [op, share] : shares) ops.push_back(op);
  std::ranges::sort(ops, [&](const MeasuredOp& a, const MeasuredOp& b) {
    const bool a_last = a.op == kAnyOp;
    const bool b_last = b.op == kAnyOp;
    if (a_last != b_last) return b_last;
    return shares[a] != shares[b] ? shares[a] > shares[b] : a < b;
  });
  return ops;
}

/// The sizes and times of a short measurement.
MeasureOptions short_options() {
  return {.width = 2048,
          .seconds = 0.002,
          .runs = 3,
          .chain = 64,
          .bytes = 128e6,
          .run_seconds = 0.006};
}

class Calibration {
 public:
  Calibration(std::span<Device* const> devices, const CalibrateOptions& options)
      : options_(options), cache_(options.folder, describe_machine(devices, options.settings)) {
    if (!options_.now) options_.now = steady_seconds;
    if (!options_.measure) {
      options_.measure = [this](Device& device, std::string_view op, DType dtype) {
        return measure_op(device, {op, dtype}, limited_options(), spare_[&device]);
      };
      options_.prepare = [this](Device& device) {
        // Memory that can't be allocated now is allocated, or refused, when an op needs it.
        const auto bytes = to_size(std::llround(short_options().bytes * kRoom));
        (void)spare_[&device].reserve(device.memory(), bytes);
      };
    }
    for (Device* device : devices) {
      DeviceInfo info = device->info();
      if (info.twin || info.kind == DeviceKind::kNull) continue;
      auto kept = cache_.read(info, notes_);
      devices_.push_back({device, std::move(info), kept ? std::move(*kept) : KeptCosts()});
    }
  }

  Measured run(std::span<const Graph* const> graphs) {
    start_ = options_.now();
    if (devices_.empty()) return {std::move(costs_), std::move(notes_)};
    // One op on every device, then the next: devices that are compared are measured alike.
    needed_ = needed_ops(graphs, devices_.back().info);
    for (OneDevice& each : devices_) find_own_ops(each);
    for (const MeasuredOp& op : needed_) measure_everywhere(op);
    spread_failures();
    choose_substitutes();
    measure_all_copies();
    for (OneDevice& each : devices_) finish(each);
    return {std::move(costs_), std::move(notes_)};
  }

 private:
  struct OneDevice {
    Device* device = nullptr;
    DeviceInfo info;
    KeptCosts known;
    /// Ops as the device computes them; nothing for those that it lacks.
    std::map<MeasuredOp, std::optional<MeasuredOp>> own_ops = {};
    bool is_new = false;       ///< something was measured
    bool is_prepared = false;  ///< it has the memory for measurements
  };
  /// An op without the time to measure it, and the measured one that its costs are predicted from.
  struct Substitute {
    MeasuredOp op;
    std::optional<MeasuredOp> measured;  ///< on all devices; none: estimates
  };
  /// Bytes to reserve, by those that a chain bound by memory reads: results and padding have room.
  static constexpr double kRoom = 1.05;

  static std::string describe_machine(std::span<Device* const> devices, std::string_view settings) {
    const auto cpu = std::ranges::find_if(
        devices, [](Device* device) { return device->info().kind == DeviceKind::kCpu; });
    return fmt::format("{}; {} processors; settings [{}]",
                       cpu == devices.end() ? "no CPU" : (*cpu)->info().description,
                       std::thread::hardware_concurrency(), settings);
  }

  MeasureOptions limited_options() const {
    MeasureOptions options = short_options();
    options.deadline = start_ + options_.budget;
    options.now = options_.now;
    return options;
  }

  /// Whether an op that takes as long as the longest one so far would end in time.
  bool has_time() const { return options_.now() - start_ + longest_ <= options_.budget; }

  bool is_compared() const { return devices_.size() > 1; }

  static std::string describe(const MeasuredOp& op) {
    return op.op == kAnyOp ? "other ops" : fmt::format("{} of {}", op.op, to_string(op.dtype));
  }

  /// Calls f(device) for each of the devices, and takes notes of the time that all took together.
  template <class F>
  void time_together(std::span<OneDevice* const> devices, F f) {
    const double begin = options_.now();
    for (OneDevice* each : devices) f(*each);
    longest_ = std::max(longest_, options_.now() - begin);
  }

  /// Also of kept costs, from which others may be predicted.
  void find_own_ops(OneDevice& each) {
    const auto ask = [&](const MeasuredOp& op) {
      if (!each.own_ops.contains(op)) each.own_ops[op] = measured_on(*each.device, op);
    };
    for (const MeasuredOp& op : needed_) ask(op);
    for (const OpCost& cost : devices_.back().known.costs.ops()) ask({cost.op, cost.dtype});
  }

  /// An op as the device computes it, or as it is if the device lacks it.
  static MeasuredOp on(const OneDevice& each, const MeasuredOp& op) {
    const auto found = each.own_ops.find(op);
    return found == each.own_ops.end() ? op : found->second.value_or(op);
  }

  template <class F>
  std::vector<OneDevice*> devices_that(F lack) {
    std::vector<OneDevice*> found;
    for (OneDevice& each : devices_) {
      if (lack(each)) found.push_back(&each);
    }
    return found;
  }

  void measure_everywhere(const MeasuredOp& op) {
    const auto lacking =
        devices_that([&](const OneDevice& each) { return find(each, op) == nullptr; });
    if (lacking.empty()) return;
    for (OneDevice* each : lacking) {
      // A device with kept costs may not support this op at all.
      if (each->known.costs.ops().empty()) prepare(*each);
    }
    // The first op is always measured: otherwise a very slow machine would never have an entry.
    if (has_begun_ && !has_time()) {
      left_out_.push_back({op, {}});
      return;
    }
    has_begun_ = true;
    bool failed = false;
    time_together(lacking,
                  [&](OneDevice& each) { failed = !measure(each, on(each, op)) || failed; });
    if (failed && is_compared()) failed_.push_back(op);
  }

  /// Takes time once, so it does not predict the time of the next op.
  void prepare(OneDevice& each) {
    if (each.is_prepared) return;
    each.is_prepared = true;
    if (options_.prepare) options_.prepare(*each.device);
  }

  /// False, with a note, if it failed. A device that lacks the op has not failed.
  bool measure(OneDevice& each, const MeasuredOp& op) {
    auto cost = options_.measure(*each.device, op.op, op.dtype);
    if (cost) {
      each.known.costs.add(rounded(std::move(*cost)));
      each.is_new = true;
      return true;
    }
    if (cost.error().code() == ErrorCode::kUnsupported) return true;
    notes_.push_back(fmt::format("{}: {} can't be measured: {}", each.info.name, describe(op),
                                 cost.error().message()));
    return false;
  }

  void measure_all_copies() {
    const auto lacking = devices_that([](const OneDevice& each) {
      return !each.device->memory().host_accessible() && each.known.costs.copies().empty();
    });
    if (lacking.empty()) return;
    if (!has_time()) {
      notes_.emplace_back("no time left to measure copies: estimated on all devices");
      estimates_copies_ = true;
      return;
    }
    time_together(lacking, [&](OneDevice& each) {
      estimates_copies_ = !measure_copies_of(each) || estimates_copies_;
    });
  }

  /// False, with a note, if it failed.
  bool measure_copies_of(OneDevice& each) {
    CostModel copies;
    const Status status = measure_copies(*each.device, limited_options(), copies);
    if (!status) {
      notes_.push_back(fmt::format("{}: copies can't be measured: {}", each.info.name,
                                   status.error().message()));
      return false;
    }
    for (const CopyCost& copy : copies.copies()) each.known.costs.add(rounded(copy));
    each.is_new = true;
    return true;
  }

  static const OpCost* find(const OneDevice& each, const MeasuredOp& op) {
    const auto ops = each.known.costs.ops();
    const MeasuredOp own = on(each, op);
    const auto found =
        std::ranges::find_if(ops, [&](const OpCost& cost) { return is_of_op(cost, own); });
    return found == ops.end() ? nullptr : &*found;
  }

  /// An op has failed, too, if a device computes it as one that has.
  void spread_failures() {
    for (std::size_t i = 0; i < failed_.size(); ++i) {
      for (const MeasuredOp& op : needed_) {
        const bool same = std::ranges::any_of(
            devices_, [&](const OneDevice& each) { return on(each, op) == on(each, failed_[i]); });
        if (same && std::ranges::find(failed_, op) == failed_.end()) failed_.push_back(op);
      }
    }
    std::erase_if(left_out_, [&](const Substitute& left) {
      return std::ranges::find(failed_, left.op) != failed_.end();
    });
  }

  /// Whether a measured op of the device is dropped: on this device it is the form of ops that were
  /// left out, or failed, and of no other op.
  bool gives_way(const OneDevice& each, const MeasuredOp& own) const {
    const auto is_replaced = [&](const MeasuredOp& op) {
      return std::ranges::find(left_out_, op, &Substitute::op) != left_out_.end() ||
             std::ranges::find(failed_, op) != failed_.end();
    };
    bool replaced = false;
    for (const MeasuredOp& op : needed_) {
      if (on(each, op) != own) continue;
      if (!is_replaced(op)) return false;
      replaced = true;
    }
    return replaced;
  }

  bool is_measured_everywhere(const MeasuredOp& op) const {
    return std::ranges::find(failed_, op) == failed_.end() &&
           std::ranges::all_of(devices_, [&](const OneDevice& each) { return find(each, op); });
  }

  /// The same op for all devices, so that they are compared alike: of those measured on all, the
  /// slowest one of the same name, else the slowest. An op that is not measured must not seem fast.
  std::optional<MeasuredOp> substitute(const MeasuredOp& op) const {
    // A product of 4096 x 4096 weights of 8 bits with 32 columns.
    constexpr double kRankOperations = 2.0 * 4096 * 4096 * 32;
    constexpr double kRankBytes = 4096 * 4096;
    std::optional<MeasuredOp> slowest;
    std::pair<bool, double> most;
    for (const OpCost& cost : devices_.back().known.costs.ops()) {
      const MeasuredOp other{cost.op, cost.dtype};
      const std::pair rank(cost.op == op.op, cost.seconds(kRankOperations, kRankBytes));
      if ((slowest && rank <= most) || !is_measured_everywhere(other)) continue;
      slowest = other;
      most = rank;
    }
    return slowest;
  }

  void choose_substitutes() {
    for (Substitute& each : left_out_) {
      each.measured = substitute(each.op);
      notes_.push_back(fmt::format(
          "{}no time left to measure {}: {}{}",
          is_compared() ? "" : devices_.back().info.name + ": ", describe(each.op),
          each.measured ? "predicted from " + describe(*each.measured) : std::string("estimated"),
          is_compared() ? " on all devices" : ""));
    }
  }

  void finish(OneDevice& each) {
    const std::string path = cache_.path_of(each.info);
    std::string origin = fmt::format("measured on {}, kept in {}", each.known.date, path);
    if (each.is_new) {
      // The file has the age of its oldest entry.
      if (each.known.date.empty()) each.known.date = cache_.today();
      const bool kept = cache_.write(each.info, each.known, notes_);
      origin = kept ? fmt::format("measured now, kept in {}", path) : "measured now";
    }
    bool has_measured = false;
    for (const OpCost& cost : each.known.costs.ops()) {
      if (gives_way(each, {cost.op, cost.dtype})) continue;
      costs_.add(cost);
      has_measured = true;
    }
    if (!estimates_copies_) {
      for (const CopyCost& copy : each.known.costs.copies()) costs_.add(copy);
    }
    if (has_measured) {  // else all are estimates
      for (const Substitute& left : left_out_) add_missing(predicted(each, left));
      for (const MeasuredOp& op : failed_) add_missing(estimated_cost(each.info, on(each, op)));
    }
    costs_.set_origin(each.info.name, std::move(origin));
  }

  static OpCost predicted(const OneDevice& each, const Substitute& left) {
    if (!left.measured) return estimated_cost(each.info, on(each, left.op));
    const MeasuredOp own = on(each, left.op);
    return scaled_cost(*find(each, *left.measured), own.op, own.dtype);
  }

  /// Two ops may have one form on a device.
  void add_missing(OpCost cost) {
    const bool known = std::ranges::any_of(costs_.ops(), [&](const OpCost& other) {
      return other.device == cost.device && other.op == cost.op && other.dtype == cost.dtype;
    });
    if (!known) costs_.add(std::move(cost));
  }

  CalibrateOptions options_;
  CostCache cache_;
  std::vector<std::string> notes_;
  std::vector<OneDevice> devices_;
  std::vector<MeasuredOp> needed_;
  std::map<Device*, SpareMemory> spare_;
  std::vector<Substitute> left_out_;  ///< some device has no measured costs of these
  std::vector<MeasuredOp> failed_;    ///< nor of these, where devices are compared
  bool estimates_copies_ = false;     ///< as those of some device could not be measured
  CostModel costs_;
  bool has_begun_ = false;  ///< to measure an op
  double start_ = 0;
  double longest_ = 0;  ///< seconds, of one op on all devices
};

}  // namespace

Measured calibrate(std::span<Device* const> devices, std::span<const Graph* const> graphs,
                   const CalibrateOptions& options) {
  auto result =
      guarded([&]() -> Result<Measured> { return Calibration(devices, options).run(graphs); });
  if (result) return std::move(*result);
  return {{}, {fmt::format("devices can't be measured: {}", result.error().message())}};
}

}  // namespace shunt
