// Measuring what ops and copies take on devices.
#include <algorithm>
#include <functional>

#include "base/fail.h"
#include "base/guarded.h"
#include "ops/common/cache_types.h"
#include "schedule/costs_fit.h"
#include "schedule/costs_timer.h"
#include "schedule/costs_work.h"
#include "shunt/costs.h"
#include "shunt/ops.h"

namespace shunt {

namespace {

/// Adds one node of the op that is measured, with leaves of its own. It reads the result of the one
/// before, which has the shape of its own, or an input if there is none: in a chain no node can
/// hide behind another.
using AddNode = std::function<Result<Value>(GraphBuilder&, const Value& before)>;

constexpr double kBeyondCaches = 128e6;  ///< bytes that no cache holds

Result<Value> before_or_input(GraphBuilder& g, const Value& before, const Shape& shape) {
  if (before.id != kNoNode) return before;
  SHUNT_ASSIGN(const Tensor x, make_tensor(DType::kF32, shape));
  return g.input("x", x);
}

/// A product of w [k, k] with n columns.
AddNode matmul_node(DType dtype, std::int64_t k, std::int64_t n) {
  return [=](GraphBuilder& g, const Value& before) -> Result<Value> {
    SHUNT_ASSIGN(const Tensor w, make_tensor(dtype, {k, k}));
    return matmul(g, g.weight("w", w), before_or_input(g, before, {k, n}));
  };
}

/// Attention of `tokens` over `keys`, 4 query heads to a head of k and v.
AddNode attention_node(DType dtype, std::int64_t size, std::int64_t kv_heads, std::int64_t keys,
                       std::int64_t tokens) {
  return [=](GraphBuilder& g, const Value& before) -> Result<Value> {
    SHUNT_ASSIGN(const Tensor k, make_tensor(dtype, {size, kv_heads, keys}));
    return attention(g, before_or_input(g, before, {size, 4 * kv_heads, tokens}), g.input("k", k),
                     g.input("v", k));
  };
}

AddNode add_node(std::int64_t elements) {
  return [=](GraphBuilder& g, const Value& before) -> Result<Value> {
    SHUNT_ASSIGN(const Tensor b, make_tensor(DType::kF32, {elements}));
    return add(g, before_or_input(g, before, {elements}), g.input("b", b));
  };
}

/// An op with the shapes that tell its three costs apart.
struct OpClass {
  std::string_view op;
  DType dtype = DType::kF32;
  AddNode tiny;     ///< the overhead is all
  AddNode reading;  ///< bound by memory
  AddNode heavy;    ///< bound by arithmetic; empty if the op never is
};

std::vector<OpClass> op_classes(std::int64_t width) {
  std::vector<OpClass> classes;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    classes.push_back({"matmul", dtype, matmul_node(dtype, 64, 1), matmul_node(dtype, width, 1),
                       matmul_node(dtype, width / 2, width / 8)});
  }
  for (DType dtype : kCacheTypes) {
    classes.push_back({"attention", dtype, attention_node(dtype, 64, 1, 4, 1),
                       attention_node(dtype, 64, 8, width, 1),
                       attention_node(dtype, 64, 2, width, width / 16)});
  }
  classes.push_back({kAnyOp, DType::kF32, add_node(64), add_node(width * width / 4), {}});
  return classes;
}

/// A chain of `count` nodes.
Result<Graph> chain_of(const AddNode& node, std::size_t count) {
  GraphBuilder g;
  Value last;
  for (std::size_t i = 0; i < count; ++i) {
    SHUNT_ASSIGN(last, node(g, last));
  }
  SHUNT_TRY(g.output(last, "y"));
  return std::move(g).build();
}

/// Times a chain that takes `bytes`, but has at least one node and not too many.
Result<CostSample> sample(Device& device, const AddNode& node, const MeasureOptions& options,
                          double bytes) {
  SHUNT_ASSIGN(const Graph single, chain_of(node, 1));
  CostSample result;
  const Work work = work_of(single, single.outputs()[0]);
  const auto count = static_cast<std::size_t>(
      std::clamp(bytes / std::max(work.bytes, 1.0), 1.0,
                 static_cast<double>(std::max<std::size_t>(options.chain, 1))));
  SHUNT_ASSIGN(const Graph graph, chain_of(node, count));
  SHUNT_ASSIGN(const double all, time_graph(device, graph, options.seconds));
  result.operations = work.operations;
  result.bytes = work.bytes;
  result.seconds = all / static_cast<double>(count);
  return result;
}

Result<OpCost> measure_op(Device& device, const OpClass& op, const MeasureOptions& options) {
  SHUNT_ASSIGN(const CostSample tiny, sample(device, op.tiny, options, kBeyondCaches));
  SHUNT_ASSIGN(const CostSample reading, sample(device, op.reading, options, kBeyondCaches));
  CostSample heavy;
  if (op.heavy) {
    SHUNT_ASSIGN(heavy, sample(device, op.heavy, options, 0));
  }
  OpCost cost = fit_op_cost(tiny, reading, heavy);
  const DeviceInfo info = device.info();
  cost.device = info.name;
  cost.description = info.description;
  cost.op = op.op;
  cost.dtype = op.dtype;
  return cost;
}

Status measure_copies(Device& device, const MeasureOptions& options, CostModel& costs) {
  const DeviceInfo info = device.info();
  const auto most = static_cast<std::size_t>(options.width * options.width);
  for (const bool to_device : {true, false}) {
    constexpr std::size_t kFew = 64;
    SHUNT_ASSIGN(const double few, time_copy(device, kFew, to_device, options.seconds));
    SHUNT_ASSIGN(const double many, time_copy(device, most, to_device, options.seconds));
    CopyCost copy{info.name, info.description, to_device, {}};
    copy.cost = {few, std::max(0.0, many - few) / static_cast<double>(most)};
    costs.add(std::move(copy));
  }
  return ok();
}

Status measure_device(Device& device, const MeasureOptions& options, Measured& measured) {
  const std::string name = device.info().name;
  for (const OpClass& op : op_classes(options.width)) {
    auto cost = measure_op(device, op, options);
    if (cost) {
      measured.costs.add(std::move(*cost));
    } else {
      measured.notes.push_back(fmt::format("{}: {} of {}: {}", name, op.op, to_string(op.dtype),
                                           cost.error().message()));
    }
  }
  // Where the host reads the memory as it is, nothing is ever copied.
  if (device.memory().host_accessible()) return ok();
  const Status copies = measure_copies(device, options, measured.costs);
  if (!copies)
    measured.notes.push_back(fmt::format("{}: copies: {}", name, copies.error().message()));
  return ok();
}

}  // namespace

Status check_measure_options(const MeasureOptions& options) {
  constexpr std::int64_t kStep = 64;
  constexpr std::int64_t kMostWidth = 32768;
  if (options.width >= kStep && options.width <= kMostWidth && options.width % kStep == 0)
    return ok();
  return invalid("matrices of width {}: it must be a multiple of {}, at most {}", options.width,
                 kStep, kMostWidth);
}

Result<Measured> measure_costs(std::span<Device* const> devices, const MeasureOptions& options) {
  SHUNT_TRY(check_measure_options(options));
  return guarded([&]() -> Result<Measured> {
    Measured measured;
    for (Device* device : devices) {
      const DeviceInfo info = device->info();
      if (info.twin) {
        measured.notes.push_back(
            fmt::format("{} is a twin, whose time means nothing: not measured", info.name));
      } else if (info.kind != DeviceKind::kNull) {
        SHUNT_TRY(measure_device(*device, options, measured));
      }
    }
    return measured;
  });
}

}  // namespace shunt
