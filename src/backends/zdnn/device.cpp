#include "backends/zdnn/device.h"

#include "backend_support/error_share.h"
#include "backend_support/host_memory_facts.h"

namespace shunt::zdnn {

#include "kernel_list.inc"

ZdnnDevice::ZdnnDevice(std::unique_ptr<Machine> machine, std::shared_ptr<VendorLibrary> library)
    : KernelDevice(kKernelFiles),
      library_(std::move(library)),
      machine_(std::move(machine)),
      // A tensor that leaves a segment is plain; one that stays inside is in the machine's layout.
      memory_("zdnn", kPage,
              {Layout{}, {LayoutKind::kPacked, false, "numbers are rounded to DLFLOAT16"}}),
      weights_(*machine_, WeightForm::kDlfloat16),
      int8_weights_(*machine_, WeightForm::kInt8),
      constants_(*machine_) {}

DeviceInfo ZdnnDevice::info() const {
  DeviceInfo info;
  info.name = name();
  info.description = machine_->description();
  info.kind = DeviceKind::kAccelerator;
  info.priority = 1;  // before libraries that run on the CPU
  set_host_memory(info);
  info.twin = machine_->is_twin();
  return info;
}

std::vector<WeightCandidate> ZdnnDevice::weight_forms(const Graph& graph, NodeId leaf) {
  // Bytes of a number, relative to F32, that the machine reads in each step.
  constexpr double kDlfloat16Cost = 0.5;
  constexpr double kInt8Cost = 0.25;
  const Tensor& tensor = graph.node(leaf).result;
  std::vector<WeightCandidate> forms;
  const auto offer = [&](WeightMemory& memory, bool lossy, double cost) {
    if (memory.packs(tensor)) {
      forms.push_back({&memory, lossy, cost, memory.layouts().front().note});
    }
  };
  offer(weights_, false, kDlfloat16Cost);
  if (machine_->has(Feature::kQuantizedMatmul)) offer(int8_weights_, true, kInt8Cost);
  return forms;
}

std::string_view ZdnnDevice::why_not_lossy() const {
  return machine_->why_not(Feature::kQuantizedMatmul);
}

std::optional<LossyCost> ZdnnDevice::lossy_cost(const Address& at) const {
  WeightSticks* const weight = find_weight(at);
  return weight == nullptr ? std::nullopt : weight->cost();
}

double ZdnnDevice::rounding_error(const Graph& graph, NodeId node, MemoryOfLeaves memory) const {
  const ZdnnKernel* const kernel = kernel_of(graph.node(node));
  if (kernel == nullptr) return 0;
  const NodeView view(graph, node, memory);
  const double int8_error = has_int8_weight(view) ? kernel->int8_error() : 0;
  const Tensor& result = graph.node(node).result;
  // A single number that is lost is all of it.
  if (kernel->vanishes() && element_count(result.shape) == 1) return 1;
  const double own = kernel->roundings(view, *machine_) * kUnitRoundoff * kUnitRoundoff;
  return (own + int8_error) * error_share(result);
}

double ZdnnDevice::largest_number(const Graph& graph, NodeId node) const {
  const bool limited = machine_->saturates() && kernel_of(graph.node(node)) != nullptr;
  return limited ? double{kLargest} : std::numeric_limits<double>::infinity();
}

Result<std::unique_ptr<Program>> ZdnnDevice::prepare(const SegmentView& segment) {
  return zdnn::prepare(segment, {*machine_, kernel_table(), constants_, ranges_});
}

}  // namespace shunt::zdnn
