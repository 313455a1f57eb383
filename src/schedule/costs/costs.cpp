// Predictions: the roofline of a device (Williams, Waterman and Patterson, "Roofline: an insightful
// visual performance model for multicore architectures", 2009), with an overhead for each node.
#include "shunt/costs.h"

#include <algorithm>

#include "graph/op.h"
#include "graph/storage_users.h"
#include "schedule/costs/estimates.h"
#include "schedule/costs/work.h"

namespace shunt {

namespace {

template <class Cost>
bool is_of(const Cost& cost, const DeviceInfo& device) {
  return cost.device == device.name && cost.description == device.description;
}

/// Whether arithmetic takes most of the time of an op in large shapes.
bool is_heavy(std::string_view op) {
  const std::string_view same = op_with_same_costs(op);
  return same == "matmul" || same == "attention";
}

/// Whether the costs were measured with an op that is bound by memory in every shape.
bool ignores_arithmetic(const OpCost& cost) {
  return cost.seconds_per_operation == 0 && cost.seconds_per_byte > 0;
}

}  // namespace

/// The entry of this op and type; else the slowest of this op, whatever the type.
const OpCost* CostModel::find(std::string_view op, DType dtype, const DeviceInfo& device) const {
  const OpCost* slowest = nullptr;
  for (const OpCost& cost : ops_) {
    if (cost.op != op || !is_of(cost, device)) continue;
    if (cost.dtype == dtype) return &cost;
    if (slowest == nullptr || cost.seconds_per_operation > slowest->seconds_per_operation)
      slowest = &cost;
  }
  return slowest;
}

double CostModel::seconds(const Graph& graph, NodeId id, const DeviceInfo& device) const {
  const Node& node = graph.node(id);
  if (!is_computed(node)) return 0;
  const Work work = work_of(graph, id);
  const DType dtype = deciding_type(graph, id);
  const std::string_view op = node.op->info().name;
  const OpCost* measured = find(op, dtype, device);
  if (measured == nullptr) measured = find(op_with_same_costs(op), dtype, device);
  if (measured == nullptr) measured = find(kAnyOp, dtype, device);
  if (measured != nullptr && measured->op == kAnyOp && is_heavy(op) &&
      ignores_arithmetic(*measured))
    measured = nullptr;
  if (measured != nullptr) return measured->seconds(work.operations, work.bytes);
  const DeviceSpeed estimate = estimate_of(device);
  return estimate.launch_seconds + std::max(work.operations / estimate.operations_per_second,
                                            work.bytes / estimate.bytes_per_second);
}

bool CostModel::has(const DeviceInfo& device) const {
  return std::ranges::any_of(ops_, [&](const OpCost& cost) { return is_of(cost, device); });
}

std::string CostModel::origin(const DeviceInfo& device) const {
  const auto named = origins_.find(device.name);
  if (has(device) && named != origins_.end()) return named->second;
  if (has(device)) return file_.empty() ? "measured" : "costs file " + file_;
  const std::string figures =
      device.speed ? "figures of its backend" : "estimate for its kind of device";
  return device.twin ? figures + ", because the speed of a twin is meaningless" : figures;
}

TransferCost CostModel::host_copy(const DeviceInfo& device, bool to_device) const {
  for (const CopyCost& copy : copies_) {
    if (copy.to_device == to_device && is_of(copy, device)) return copy.cost;
  }
  const DeviceSpeed estimate = estimate_of(device);
  return {estimate.copy_latency, 1 / estimate.copy_bytes_per_second};
}

TransferCost CostModel::transfer(const DeviceInfo& from, const DeviceInfo& to) const {
  const bool from_host = from.kind == DeviceKind::kCpu;
  const bool to_host = to.kind == DeviceKind::kCpu;
  if (from_host) return host_copy(to, true);
  if (to_host) return host_copy(from, false);
  const TransferCost down = host_copy(from, false);
  const TransferCost up = host_copy(to, true);
  return {down.latency + up.latency, down.seconds_per_byte + up.seconds_per_byte};
}

}  // namespace shunt
