// Costs of devices that have no costs file: read from the cache, or else measured in a short time.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/guarded.h"
#include "graph/storage_users.h"
#include "schedule/costs/cache.h"
#include "schedule/costs/estimates.h"
#include "schedule/costs/measure.h"
#include "schedule/costs/work.h"
#include "shunt/costs.h"

namespace shunt {

namespace {

/// Two digits, so that a placement does not hang on noise.
double rounded(double seconds) {
  const std::string text = fmt::format("{:.1e}", seconds);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

OpCost rounded(OpCost cost) {
  for (double* seconds : {&cost.overhead, &cost.seconds_per_operation, &cost.seconds_per_byte})
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

/// The ops whose costs the nodes of the graphs have: those with the most operations first, and the
/// one that stands for all others last.
std::vector<MeasuredOp> needed_ops(std::span<const Graph* const> graphs) {
  std::map<MeasuredOp, double> operations;
  for (const Graph* graph : graphs) {
    for (NodeId id = 0; id < graph->size(); ++id) {
      if (!is_computed(graph->node(id))) continue;
      operations[measured_op(*graph, id)] += work_of(*graph, id).operations;
    }
  }
  std::vector<MeasuredOp> ops;
  for (const auto& [op, count] : operations) ops.push_back(op);
  std::ranges::sort(ops, [&](const MeasuredOp& a, const MeasuredOp& b) {
    const bool a_last = a.op == kAnyOp;
    const bool b_last = b.op == kAnyOp;
    if (a_last != b_last) return b_last;
    return operations[a] != operations[b] ? operations[a] > operations[b] : a < b;
  });
  return ops;
}

/// The sizes and times of a short measurement.
MeasureOptions short_options() {
  return {.width = 2048, .seconds = 0.003, .chain = 64, .bytes = 64e6, .run_seconds = 0.02};
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
    }
    for (Device* device : devices) {
      DeviceInfo info = device->info();
      if (info.twin || info.kind == DeviceKind::kNull) continue;
      auto kept = cache_.read(info, notes_);
      devices_.push_back({device, std::move(info), kept ? std::move(*kept) : KeptCosts(), false});
    }
  }

  Measured run(std::span<const Graph* const> graphs) {
    start_ = options_.now();
    // One op on every device, then the next: devices that are compared are measured alike.
    for (const MeasuredOp& op : needed_ops(graphs)) measure_everywhere(op);
    measure_all_copies();
    for (OneDevice& each : devices_) finish(each);
    return {std::move(costs_), std::move(notes_)};
  }

 private:
  struct OneDevice {
    Device* device = nullptr;
    DeviceInfo info;
    KeptCosts known;
    bool is_new = false;  ///< something was measured
  };

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

  /// Whether something ends in time that takes as long as the longest before it.
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

  template <class F>
  std::vector<OneDevice*> devices_that(F lack) {
    std::vector<OneDevice*> found;
    for (OneDevice& each : devices_) {
      if (lack(each)) found.push_back(&each);
    }
    return found;
  }

  void measure_everywhere(const MeasuredOp& op) {
    const auto lacking = devices_that([&](const OneDevice& each) {
      return std::ranges::none_of(each.known.costs.ops(),
                                  [&](const OpCost& cost) { return is_of_op(cost, op); });
    });
    if (lacking.empty()) return;
    if (!has_time()) {
      if (is_compared()) {
        notes_.push_back(
            fmt::format("no time left to measure {}: estimated on all devices", describe(op)));
      }
      left_out_.push_back(op);
      return;
    }
    bool failed = false;
    time_together(lacking, [&](OneDevice& each) { failed = !measure(each, op) || failed; });
    if (failed && is_compared()) left_out_.push_back(op);
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

  /// The slowest of the same op, else of all: what is not measured must not look fast.
  static const OpCost* substitute(const CostModel& costs, const MeasuredOp& op) {
    const auto rank = [&](const OpCost& cost) {
      return std::pair(cost.op == op.op, cost.seconds_per_operation);
    };
    const auto slowest = std::ranges::max_element(costs.ops(), {}, rank);
    return slowest == costs.ops().end() ? nullptr : &*slowest;
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
      const auto is_this = [&](const MeasuredOp& op) { return is_of_op(cost, op); };
      if (std::ranges::any_of(left_out_, is_this)) continue;
      costs_.add(cost);
      has_measured = true;
    }
    if (!estimates_copies_) {
      for (const CopyCost& copy : each.known.costs.copies()) costs_.add(copy);
    }
    for (const MeasuredOp& op : left_out_) {
      if (!is_compared()) {
        substitute_for(each, op);
      } else if (has_measured) {  // else all are estimates
        costs_.add(estimated_cost(each.info, op));
      }
    }
    costs_.set_origin(each.info.name, std::move(origin));
  }

  void substitute_for(const OneDevice& each, const MeasuredOp& op) {
    const OpCost* other = substitute(each.known.costs, op);
    notes_.push_back(fmt::format(
        "{}: no time left to measure {}: {}", each.info.name, describe(op),
        other == nullptr
            ? std::string("estimated")
            : fmt::format("it has the costs of {}", describe({other->op, other->dtype}))));
    if (other == nullptr) return;
    OpCost cost = *other;
    cost.op = op.op;
    cost.dtype = op.dtype;
    costs_.add(std::move(cost));
  }

  CalibrateOptions options_;
  CostCache cache_;
  std::vector<std::string> notes_;
  std::vector<OneDevice> devices_;
  std::map<Device*, SpareMemory> spare_;
  std::vector<MeasuredOp> left_out_;  ///< of which some device has no measured costs
  bool estimates_copies_ = false;     ///< as those of some device could not be measured
  CostModel costs_;
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
