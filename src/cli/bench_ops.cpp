// `shunt bench ops`: each op beside the rate that the device allows, through an ordinary plan.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/fail.h"
#include "base/statistics.h"
#include "cli/bench_modes.h"
#include "cli/bench_ops_cases.h"
#include "cli/rates.h"
#include "cli/table.h"
#include "model/random_blocks.h"
#include "schedule/costs/work.h"
#include "shunt/peaks.h"
#include "shunt/plan.h"

namespace shunt::cli {
namespace {

constexpr double kBeyondCaches = 256e6;   // bytes that no cache holds
constexpr double kMostOperations = 2e10;  // of a run
constexpr std::size_t kMostTimes = 128;   // that an op is in a graph
constexpr float kDeviation = 0.02F;       // about that of weights

/// Memory of a device for weights and caches, with valid blocks in it. Kept from case to case as
/// long as these take as much of the same type.
class LeafBuffers {
 public:
  explicit LeafBuffers(BufferType& type) : type_(type) {}

  /// From here on buffers are given out anew.
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

struct Measured {
  const OpsCase* each = nullptr;
  Work work;           ///< of one node
  double seconds = 0;  ///< of one node
  std::optional<Bound> bound;
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

/// Seconds of a run: the median of those that take so long together, after one that doesn't count.
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

/// `devices`: the one that is measured, and a CPU behind it if it is none.
Result<Measured> measure(std::span<Device* const> devices, const OpsCase& each, double seconds,
                         LeafBuffers& buffers) {
  SHUNT_ASSIGN(const OpsGraph single, each.build(1));
  Measured measured;
  measured.each = &each;
  measured.work = work_of(*single.graph, single.nodes[0]);
  SHUNT_ASSIGN(const OpsGraph ops, each.build(times_for(measured.work)));
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

/// By the unit for the type of weights or cache.
Bound bound_of_op(const Measured& measured, const DevicePeaks& peaks) {
  Amounts work = {};
  work[static_cast<std::size_t>(Peak::kRead)] = measured.work.bytes;
  work[static_cast<std::size_t>(peak_for(measured.each->dtype))] += measured.work.operations;
  return bound_of(work, peaks);
}

double share_of(const Measured& measured) {
  return measured.bound && measured.seconds > 0 ? measured.bound->seconds / measured.seconds : 0;
}

double rate(double amount, const Measured& measured) {
  return measured.seconds > 0 ? amount / measured.seconds : 0;
}

Table table_of(std::span<const Measured> all) {
  Table table({{"op", false},
               {"type", false},
               {"shape", false},
               {"us"},
               {"Gop/s"},
               {"GB/s"},
               {"share"},
               {"of", false}});
  for (const Measured& each : all) {
    table.add({std::string(each.each->op), std::string(to_string(each.each->dtype)),
               each.each->shape, fmt::format("{:.1f}", each.seconds * 1e6),
               fmt::format("{:.1f}", rate(each.work.operations, each) * 1e-9),
               fmt::format("{:.1f}", rate(each.work.bytes, each) * 1e-9),
               format_share(share_of(each)),
               each.bound ? std::string(to_string(each.bound->peak)) : "-"});
  }
  return table;
}

Json json_of(const DeviceInfo& device, const std::optional<DevicePeaks>& peaks,
             std::span<const Measured> all) {
  Json json = {{"device", device.name}, {"description", device.description}};
  json["peaks"] = peaks ? peaks_json(*peaks) : Json();
  json["ops"] = Json::array();
  for (const Measured& each : all) {
    Json op = {{"op", each.each->op},
               {"type", to_string(each.each->dtype)},
               {"shape", each.each->shape},
               {"seconds", each.seconds},
               {"operations_per_second", rate(each.work.operations, each)},
               {"bytes_per_second", rate(each.work.bytes, each)}};
    op["share"] = each.bound ? Json(share_of(each)) : Json();
    op["bound"] = each.bound ? Json(to_string(each.bound->peak)) : Json();
    json["ops"].push_back(std::move(op));
  }
  return json;
}

/// None, said why, if the device can't measure them.
Result<std::optional<DevicePeaks>> peaks_of(Device& device) {
  auto meter = device.open_peak_meter(0);
  if (!meter && meter.error().code() == ErrorCode::kUnsupported) {
    say(meter.error().message());
    return std::optional<DevicePeaks>();
  }
  if (!meter) return meter.error();
  SHUNT_ASSIGN(DevicePeaks peaks, measure_peaks(**meter, kPeakSeconds));
  return std::optional(std::move(peaks));
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
  for (const DType dtype : request.types) {
    const std::int64_t block = trait(dtype).block_elements;
    if (request.width % block == 0) continue;
    return invalid("weights of width {} are not whole blocks of {}, which have {} elements",
                   request.width, to_string(dtype), block);
  }
  return ok();
}

Status bench_ops(std::span<Device* const> devices, const OpsBenchRequest& request,
                 BenchFormat format, Output& output) {
  Device& device = *devices[0];
  const DeviceInfo info = device.info();
  if (info.twin) {
    return fail(ErrorCode::kUnsupported, "{} is a twin, whose time means nothing", info.name);
  }
  SHUNT_ASSIGN(const auto peaks, peaks_of(device));
  const std::vector<OpsCase> cases = list_ops_cases(request.types, request.width);
  LeafBuffers buffers(device.memory());
  std::vector<Measured> all;
  for (const OpsCase& each : cases) {
    if (!request.ops.empty() && std::ranges::count(request.ops, each.op) == 0) continue;
    auto measured = measure(devices, each, request.seconds, buffers);
    if (!measured) {
      if (measured.error().code() != ErrorCode::kUnsupported) return measured.error();
      say(fmt::format("{} of {} is left out: {}", each.op, to_string(each.dtype),
                      measured.error().message()));
      continue;
    }
    if (peaks) measured->bound = bound_of_op(*measured, *peaks);
    all.push_back(std::move(*measured));
  }
  if (format == BenchFormat::kJson) {
    output.write(to_text(json_of(info, peaks, all)));
    return ok();
  }
  const bool is_markdown = format == BenchFormat::kMarkdown;
  std::string text = fmt::format("{}: {}\n", info.name, info.description);
  if (peaks) text += fmt::format("{}limits: {}\n", is_markdown ? "\n" : "", to_line(*peaks));
  const Table table = table_of(all);
  output.write(text + (is_markdown ? "\n" + table.markdown() : table.plain()));
  return ok();
}

}  // namespace shunt::cli
