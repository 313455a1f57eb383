#include "shunt/bench_ops.h"

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/guarded.h"
#include "evaluate/bench_ops_cases.h"
#include "model/random_blocks.h"
#include "schedule/costs/work.h"
#include "shunt/message.h"
#include "shunt/plan.h"
#include "shunt/statistics.h"

namespace shunt {
namespace {

constexpr double kBeyondCaches = 256e6;   // bytes that no cache holds
constexpr double kMostOperations = 2e10;  // of a run
constexpr std::size_t kMostTimes = 128;   // instances of an op in a graph
constexpr float kDeviation = 0.02F;       // about that of weights

/// Memory of a device for weights and caches, with valid blocks in it. The next case
/// uses the same memory if its type and size are the same.
class LeafBuffers {
 public:
  explicit LeafBuffers(BufferType& type) : type_(type) {}

  /// take() starts with the first buffer again.
  void start_case() { next_ = 0; }
  Result<Address> take(const Tensor& tensor) {
    const auto bytes = static_cast<std::size_t>(byte_span(tensor));
    if (dtype_ != tensor.dtype || bytes != content_.size()) {
      buffers_.clear();
      dtype_ = tensor.dtype;
      content_.resize(bytes);
      RandomBlocks(tensor.dtype, kDeviation, 1).fill(content_, 1);
    }
    if (next_ == buffers_.size()) {
      SHUNT_ASSIGN(auto buffer, type_.allocate(type_.size_of(tensor)));
      SHUNT_TRY(buffer->write(0, content_));
      buffers_.push_back(std::move(buffer));
    }
    return Address{buffers_[next_++].get(), 0};
  }

 private:
  BufferType& type_;
  DType dtype_ = DType::kF32;
  std::vector<std::byte> content_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::size_t next_ = 0;
};

/// The number of times that an op is in a graph. Its leaves are then more than caches hold, but a
/// run does not take too long.
std::size_t times_for(const Work& work) {
  const double times = std::min(kBeyondCaches / std::max(work.bytes, 1.0),
                                kMostOperations / std::max(work.operations, 1.0));
  return static_cast<std::size_t>(std::clamp(times, 1.0, static_cast<double>(kMostTimes)));
}

Status fill_input(Plan& plan, NodeId leaf) {
  SHUNT_ASSIGN(const std::span<std::byte> bytes, plan.input(Value{leaf}));
  const DType dtype = plan.graph().node(leaf).result.dtype;
  if (is_weight_type(dtype)) {
    RandomBlocks(dtype, 1, leaf).fill(bytes, leaf);
  } else {
    std::ranges::fill(bytes, std::byte{0});  // positions
  }
  return ok();
}

/// Seconds of a run: the median of all runs within `seconds`, after one warm-up.
Result<double> time_runs(Plan& plan, double seconds) {
  SHUNT_TRY(plan.run());
  std::vector<double> runs;
  const double start = steady_seconds();
  do {
    const double before = steady_seconds();
    SHUNT_TRY(plan.run());
    runs.push_back(steady_seconds() - before);
  } while (steady_seconds() - start < seconds);
  return summarize(runs).median;
}

/// `devices`: the measured one, then the CPU if it is another one.
Result<OpTime> measure(std::span<Device* const> devices, const OpsCase& each, double seconds,
                       LeafBuffers& buffers) {
  SHUNT_ASSIGN(const OpsGraph single, each.build(1));
  const Work work = work_of(*single.graph, single.nodes[0]);
  OpTime measured = {.op = each.op, .dtype = each.dtype, .shape = each.shape};
  measured.operations = work.operations;
  measured.bytes = work.bytes;
  SHUNT_ASSIGN(const OpsGraph ops, each.build(times_for(work)));
  if (const Support answer = devices[0]->supports(*ops.graph, ops.nodes[0]); !answer) {
    return fail(ErrorCode::kUnsupported, "{}",
                answer.refused() ? answer.facts() : "only with a source of another type");
  }
  std::vector<LeafMemory> memory;
  buffers.start_case();
  for (const NodeId leaf : ops.kept) {
    SHUNT_ASSIGN(const Address address, buffers.take(ops.graph->node(leaf).result));
    memory.push_back({leaf, address});
  }
  PlaceOptions place;
  place.memory = memory;
  place.rules_only = true;
  CompileOptions compile;
  compile.steps_in_flight = 1;
  SHUNT_ASSIGN(const auto plan, make_plan(ops.graph, devices, place, compile));
  if (plan->placement().decisions[ops.nodes[0]].device != 0) {
    return fail(ErrorCode::kUnsupported, "it would run on another device");
  }
  for (const NodeId leaf : ops.inputs) SHUNT_TRY(fill_input(*plan, leaf));
  SHUNT_ASSIGN(const double all, time_runs(*plan, seconds));
  measured.seconds = all / static_cast<double>(ops.nodes.size());
  return measured;
}

/// The bound by the peak for the type of weights or cache.
Bound bound_of_op(const OpTime& measured, const DevicePeaks& peaks) {
  Amounts work = {};
  work[static_cast<std::size_t>(Peak::kRead)] = measured.bytes;
  work[static_cast<std::size_t>(peak_for(measured.dtype))] += measured.operations;
  return bound_of(work, peaks);
}

void log_line(const OpsBenchRequest& request, const std::string& line) {
  if (request.log) request.log(line);
}

/// None, with a note, if the device can't measure them.
Result<std::optional<DevicePeaks>> peaks_of(Device& device, const OpsBenchRequest& request) {
  auto meter = device.open_peak_meter(0);
  if (!meter && meter.error().code() == ErrorCode::kUnsupported) {
    log_line(request, meter.error().message());
    return std::optional<DevicePeaks>();
  }
  if (!meter) return meter.error();
  SHUNT_ASSIGN(DevicePeaks peaks, measure_peaks(**meter, kPeakSeconds));
  return std::optional(std::move(peaks));
}

/// The types of a request; all types of weights if it has none.
std::vector<DType> types_of(const OpsBenchRequest& request) {
  std::vector<DType> types = request.types;
  if (!types.empty()) return types;
  for (const DTypeTrait& type : dtypes()) {
    if (is_weight_type(type.dtype)) types.push_back(type.dtype);
  }
  return types;
}

}  // namespace

std::vector<std::string_view> bench_op_names() {
  std::vector<std::string_view> names;
  for (const OpsCase& each : list_ops_cases({}, 1)) names.push_back(each.op);
  names.emplace_back("matmul");
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Status check_ops_bench(const OpsBenchRequest& request) {
  constexpr std::int64_t kStep = 64;
  constexpr std::int64_t kMostWidth = 32768;
  if (request.width < kStep || request.width > kMostWidth || request.width % kStep != 0) {
    return invalid("weights of width {}: it must be a multiple of {}, at most {}", request.width,
                   kStep, kMostWidth);
  }
  const auto names = bench_op_names();
  for (const std::string_view op : request.ops) {
    if (std::ranges::count(names, op) == 0) return invalid("\"{}\" is no op that is measured", op);
  }
  for (const DType dtype : types_of(request)) {
    if (!is_weight_type(dtype)) return invalid("weights can't be of type {}", to_string(dtype));
    const std::int64_t block = trait(dtype).block_elements;
    if (request.width % block == 0) continue;
    return invalid("weights of width {} are not whole blocks of {}, which have {} elements",
                   request.width, to_string(dtype), block);
  }
  return ok();
}

double OpTime::share() const {
  return bound && seconds > 0 ? bound->seconds / seconds : 0;
}

Result<OpsBenchReport> bench_ops(std::span<Device* const> devices, const OpsBenchRequest& request) {
  SHUNT_TRY(check_ops_bench(request));
  if (devices.empty() || std::ranges::count(devices, nullptr) > 0) {
    return invalid("no device is given to measure");
  }
  return guarded([&]() -> Result<OpsBenchReport> {
    Device& device = *devices[0];
    OpsBenchReport report;
    report.device = device.info();
    if (report.device.twin) {
      return fail(ErrorCode::kUnsupported,
                  "{} is not measured: it is a twin, and the times of an emulator mean nothing",
                  report.device.name);
    }
    SHUNT_ASSIGN(report.peaks, peaks_of(device, request));
    LeafBuffers buffers(device.memory());
    for (const OpsCase& each : list_ops_cases(types_of(request), request.width)) {
      if (!request.ops.empty() && std::ranges::count(request.ops, each.op) == 0) continue;
      auto measured = measure(devices, each, request.seconds, buffers);
      if (!measured) {
        if (measured.error().code() != ErrorCode::kUnsupported) return measured.error();
        log_line(request, fmt::format("{} of {} is left out: {}", each.op, to_string(each.dtype),
                                      measured.error().message()));
        continue;
      }
      if (report.peaks) measured->bound = bound_of_op(*measured, *report.peaks);
      report.ops.push_back(std::move(*measured));
    }
    return report;
  });
}

}  // namespace shunt
