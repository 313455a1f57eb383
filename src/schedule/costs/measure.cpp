// Measuring the time of ops and copies on devices.
#include "schedule/costs/measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/guarded.h"
#include "base/to_size.h"
#include "graph/op.h"
#include "ops/common/cache_types.h"
#include "schedule/costs/fit.h"
#include "schedule/costs/work.h"
#include "shunt/message.h"
#include "shunt/ops.h"

namespace shunt {

namespace {

/// Adds one node of the op that is measured, with leaves of its own. It reads the result of the one
/// before, which has the shape of its own, or an input if there is none: in a chain no node can
/// hide behind another.
using AddNode = std::function<Result<Value>(GraphBuilder&, const Value& before)>;

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

/// An op bound by arithmetic is measured with a number of columns, and with this part of them.
constexpr std::int64_t kColumnsToFew = 8;
/// But with no more than these: a CPU takes much less time for each of 64 columns than of 32.
constexpr std::int64_t kMostFewColumns = 32;
/// With fewer columns arithmetic is not measurable.
constexpr std::int64_t kFewestColumns = 16;
/// The kernel for many columns begins somewhere above the few. To separate its unpacking from its
/// arithmetic, it is also measured with this part of the many. But the measurement has no fewer
/// than kFewestSomeColumns, below which another kernel may run: the CPU's tiles begin there.
constexpr std::int64_t kColumnsToSome = 4;
constexpr std::int64_t kFewestSomeColumns = 128;

/// A product bound by arithmetic has the shape of one in a model: the columns of a whole batch, and
/// weights that are a large part of the bytes.
constexpr std::int64_t kBatch = 512;
constexpr std::int64_t kHeavyWidth = 2048;

/// An op in the shapes that separate its costs.
struct OpShapes {
  AddNode tiny;     ///< the overhead is all
  AddNode reading;  ///< bound by memory
  /// A node bound by arithmetic with a number of columns; empty if the op never is.
  std::function<AddNode(std::int64_t columns)> heavy;
  std::int64_t columns = 0;  ///< that are enough
};

OpShapes matmul_shapes(DType dtype, std::int64_t width) {
  const auto block = std::max<std::int64_t>(64, trait(dtype).block_elements);
  const std::int64_t heavy = std::max(block, std::min(width, kHeavyWidth));
  return {matmul_node(dtype, block, 1), matmul_node(dtype, std::max(block, width), 1),
          [=](std::int64_t columns) { return matmul_node(dtype, heavy, columns); },
          std::min(width / 4, kBatch)};
}

OpShapes attention_shapes(DType dtype, std::int64_t width) {
  return {attention_node(dtype, 64, 1, 4, 1), attention_node(dtype, 64, 8, width, 1),
          [=](std::int64_t columns) { return attention_node(dtype, 64, 2, width, columns); },
          width / 16};
}

OpShapes elementwise_shapes(DType, std::int64_t width) {
  return {add_node(64), add_node(width * width / 4), {}, 0};
}

struct OpClass {
  std::string_view op;
  OpShapes (*shapes)(DType dtype, std::int64_t width);
};
constexpr std::string_view kMatmul = "matmul";
/// The last one models all other ops.
constexpr std::array<OpClass, 3> kOpClasses = {
    {{kMatmul, matmul_shapes}, {"attention", attention_shapes}, {kAnyOp, elementwise_shapes}}};

std::vector<MeasuredOp> usual_ops() {
  std::vector<MeasuredOp> ops;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0})
    ops.push_back({"matmul", dtype});
  for (DType dtype : kCacheTypes) ops.push_back({"attention", dtype});
  ops.push_back({kAnyOp, DType::kF32});
  return ops;
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

RepeatLimits repeat_limits(const MeasureOptions& options, double seconds) {
  RepeatLimits limits{.runs = options.runs, .seconds = seconds, .deadline = options.deadline};
  if (options.now) limits.now = options.now;
  return limits;
}

/// Times a chain that takes `bytes`, but has at least one node and not too many, and takes no
/// longer than a run may.
Result<CostSample> sample(Device& device, const AddNode& node, const MeasureOptions& options,
                          double bytes, SpareMemory& spare) {
  SHUNT_ASSIGN(const Graph single, chain_of(node, 1));
  CostSample result;
  const Work work = work_of(single, single.outputs()[0]);
  double most = static_cast<double>(std::max<std::size_t>(options.chain, 1));
  most = std::clamp(bytes / std::max(work.bytes, 1.0), 1.0, most);
  result.operations = work.operations;
  result.bytes = work.bytes;
  if (most > 1 && std::isfinite(options.run_seconds)) {
    SHUNT_ASSIGN(result.seconds, time_graph(device, single, repeat_limits(options, 0), spare));
    if (result.seconds > 0) most = std::clamp(options.run_seconds / result.seconds, 1.0, most);
    if (most < 2) return result;
  }
  const auto count = to_size(std::llround(std::floor(most)));
  SHUNT_ASSIGN(const Graph graph, chain_of(node, count));
  SHUNT_ASSIGN(const double all,
               time_graph(device, graph, repeat_limits(options, options.seconds), spare));
  result.seconds = all / static_cast<double>(count);
  return result;
}

/// The number of columns that a node may have, if it computes as fast as in a sample; at most
/// `most`. A single node may take as long as two chains.
Result<std::int64_t> columns_of(const OpShapes& shapes, const CostSample& known, std::int64_t most,
                                const MeasureOptions& options) {
  if (!std::isfinite(options.run_seconds) || known.seconds <= 0) return most;
  SHUNT_ASSIGN(const Graph one, chain_of(shapes.heavy(1), 1));
  const double operations = work_of(one, one.outputs()[0]).operations;
  const double columns =
      known.operations / known.seconds * 2 * options.run_seconds / std::max(operations, 1.0);
  return static_cast<std::int64_t>(std::clamp(columns, 1.0, static_cast<double>(most)));
}

/// Adds samples with a few and with many columns. The number of the few follows from the speed of
/// reading. An op may compute much faster than that, so the larger number follows from the time of
/// the few. All chains read more than the nearest caches hold: in a model, too, weights don't come
/// from there.
Status sample_arithmetic(Device& device, const OpShapes& shapes, const MeasureOptions& options,
                         SpareMemory& spare, OpSamples& samples) {
  const auto sample_columns = [&](std::int64_t columns, double bytes) {
    return sample(device, shapes.heavy(columns), options, bytes, spare);
  };
  const std::int64_t part = std::min(shapes.columns / kColumnsToFew, kMostFewColumns);
  const std::int64_t first = part < kFewestColumns ? shapes.columns : part;
  SHUNT_ASSIGN(std::int64_t few, columns_of(shapes, samples.reading, first, options));
  // With few columns reading takes longer than arithmetic, so this chain reads more.
  SHUNT_ASSIGN(samples.many, sample_columns(few, options.bytes));
  // The time of a single column does not predict that of sixteen.
  SHUNT_ASSIGN(const std::int64_t more, columns_of(shapes, samples.many, first, options));
  if (more >= 2 * few) {
    few = more;
    SHUNT_ASSIGN(samples.many, sample_columns(few, options.bytes));
  }
  SHUNT_ASSIGN(const std::int64_t many, columns_of(shapes, samples.many, shapes.columns, options));
  if (many < 2 * few) return ok();
  if (few >= kFewestColumns) samples.few = samples.many;
  const bool is_limited = std::isfinite(options.run_seconds);
  const double bytes = is_limited ? options.bytes : options.bytes / kColumnsToFew;
  SHUNT_ASSIGN(samples.many, sample_columns(many, bytes));
  const std::int64_t some = std::max(many / kColumnsToSome, kFewestSomeColumns);
  if (few < kFewestColumns || many < 2 * some) return ok();
  SHUNT_ASSIGN(samples.some, sample_columns(some, bytes));
  return ok();
}

Status measure_device(Device& device, const MeasureOptions& options, Measured& measured) {
  const std::string name(device.name());
  SpareMemory spare;
  for (const MeasuredOp& op : usual_ops()) {
    auto cost = measure_op(device, op, options, spare);
    if (cost) {
      measured.costs.add(std::move(*cost));
    } else {
      measured.notes.push_back(fmt::format("{}: {} of {}: {}", name, op.op, to_string(op.dtype),
                                           cost.error().message()));
    }
  }
  const Status copies = measure_copies(device, options, measured.costs);
  if (!copies)
    measured.notes.push_back(fmt::format("{}: copies: {}", name, copies.error().message()));
  return ok();
}

}  // namespace

MeasuredOp measured_op(const Graph& graph, NodeId node) {
  const std::string_view op = op_with_same_costs(graph.node(node).op->info().name);
  for (const OpClass& known : kOpClasses) {
    if (known.op == op) return {known.op, deciding_type(graph, node)};
  }
  return {kAnyOp, DType::kF32};
}

std::optional<MeasuredOp> measured_on(Device& device, const MeasuredOp& op) {
  const auto known = std::ranges::find(kOpClasses, op.op, &OpClass::op);
  if (known == kOpClasses.end()) return std::nullopt;
  const auto answer = [&](DType dtype) {
    constexpr std::int64_t kSmall = 64;
    const auto graph = chain_of(known->shapes(dtype, kSmall).tiny, 1);
    if (!graph) return Support::no(Refusal::kType, graph.error().message());
    return device.supports(*graph, graph->outputs()[0]);
  };
  const Support first = answer(op.dtype);
  if (first) return op;
  // Weights in the host's memory stay as they are in the file.
  if (first.refused() || &device.memory() == &host_memory()) return std::nullopt;
  if (op.op != kMatmul || first.converted_source() != 0) return std::nullopt;
  const DType dtype = first.converted_dtype();
  if (!answer(dtype)) return std::nullopt;
  return MeasuredOp{op.op, dtype};
}

Result<OpCost> measure_op(Device& device, const MeasuredOp& op, const MeasureOptions& options,
                          SpareMemory& spare) {
  const auto known = std::ranges::find(kOpClasses, op.op, &OpClass::op);
  if (known == kOpClasses.end()) return invalid("{} is never measured", op.op);
  const OpShapes shapes = known->shapes(op.dtype, options.width);
  OpSamples samples;
  SHUNT_ASSIGN(samples.tiny, sample(device, shapes.tiny, options, options.bytes, spare));
  SHUNT_ASSIGN(samples.reading, sample(device, shapes.reading, options, options.bytes, spare));
  if (shapes.heavy) SHUNT_TRY(sample_arithmetic(device, shapes, options, spare, samples));
  OpCost cost = fit_op_cost(samples);
  const DeviceInfo info = device.info();
  cost.device = info.name;
  cost.description = info.description;
  cost.op = op.op;
  cost.dtype = op.dtype;
  return cost;
}

Status measure_copies(Device& device, const MeasureOptions& options, CostModel& costs) {
  if (device.memory().host_accessible()) return ok();
  const DeviceInfo info = device.info();
  const auto most = to_size(options.width * options.width);
  const RepeatLimits limits = repeat_limits(options, options.seconds);
  for (const bool to_device : {true, false}) {
    constexpr std::size_t kFew = 64;
    SHUNT_ASSIGN(const double few, time_copy(device, kFew, to_device, limits));
    SHUNT_ASSIGN(const double many, time_copy(device, most, to_device, limits));
    CopyCost copy{info.name, info.description, to_device, {}};
    copy.cost = {few, std::max(0.0, many - few) / static_cast<double>(most)};
    costs.add(std::move(copy));
  }
  return ok();
}

Status check_measure_options(const MeasureOptions& options) {
  constexpr std::int64_t kStep = 64;
  constexpr std::int64_t kMostWidth = 32768;
  if (options.runs < 1) return invalid("{} runs of a measurement: at least 1", options.runs);
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
            fmt::format("{} is a twin, so its times are meaningless: not measured", info.name));
      } else if (info.kind != DeviceKind::kNull) {
        SHUNT_TRY(measure_device(*device, options, measured));
      }
    }
    return measured;
  });
}

}  // namespace shunt
