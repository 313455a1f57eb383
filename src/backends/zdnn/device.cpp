#include "backends/zdnn/device.h"

#include <unistd.h>

#include "backends/zdnn/stream.h"
#include "base/available_memory.h"

namespace shunt::zdnn {

#include "kernel_list.inc"

ZdnnDevice::ZdnnDevice(std::unique_ptr<Machine> machine)
    : machine_(std::move(machine)),
      table_(kKernelFiles),
      weights_(*machine_, WeightForm::kDlfloat16),
      int8_weights_(*machine_, WeightForm::kInt8),
      constants_(*machine_) {}

DeviceInfo ZdnnDevice::info() const {
  DeviceInfo info;
  info.name = "zdnn0";
  info.description = machine_->description();
  info.kind = DeviceKind::kAccelerator;
  info.host_memory = true;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  info.memory_total = page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  info.memory_free =
      available_memory().value_or(page * static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)));
  info.twin = machine_->is_twin();
  return info;
}

const ZdnnKernel* ZdnnDevice::kernel_of(const Node& node) const {
  return node.op == nullptr ? nullptr : table_.find(*node.op);
}

Support ZdnnDevice::supports(const Graph& graph, NodeId node) const {
  const Support answer = table_.supports(graph, node);
  const ZdnnKernel* const kernel = kernel_of(graph.node(node));
  if (!answer || kernel == nullptr) return answer;
  return kernel->supports_on(NodeView(graph, node), *machine_);
}

WeightMemory* ZdnnDevice::memory_for(WeightMemory& memory, const Graph& graph, NodeId leaf) const {
  if (!memory.can_hold(graph.node(leaf).result)) return nullptr;
  bool used = false;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    for (std::size_t s = 0; s < node.sources.size(); ++s) {
      if (node.sources[s] == kNoNode || graph.node(node.sources[s]).storage != leaf) continue;
      const ZdnnKernel* const kernel = kernel_of(node);
      if (kernel == nullptr || node.sources[s] != leaf ||
          !kernel->takes_weight(NodeView(graph, id), s) ||
          !kernel->supports_on(NodeView(graph, id), *machine_)) {
        return nullptr;
      }
      used = true;
    }
  }
  return used ? &memory : nullptr;
}

BufferType* ZdnnDevice::weight_memory(const Graph& graph, NodeId leaf) {
  return memory_for(weights_, graph, leaf);
}

BufferType* ZdnnDevice::lossy_weight_memory(const Graph& graph, NodeId leaf) {
  if (!machine_->has(Feature::kQuantizedMatmul)) return nullptr;
  return memory_for(int8_weights_, graph, leaf);
}

std::string_view ZdnnDevice::why_not_lossy() const {
  return machine_->why_not(Feature::kQuantizedMatmul);
}

std::optional<LossyCost> ZdnnDevice::lossy_cost(const Address& at) const {
  WeightSticks* const weight = find_weight(at);
  return weight == nullptr ? std::nullopt : weight->cost();
}

namespace {

/// Of few elements, or sums that happen to be small beside their terms, an error is a larger share:
/// like that of product_error() in the ops' cases. 0 if there are no elements.
double share_of_few(const Tensor& tensor) {
  constexpr double kFew = 64;
  const auto count = static_cast<double>(element_count(tensor.shape));
  return count > 0 ? 1 + kFew / count : 0;
}

}  // namespace

double ZdnnDevice::lossy_rounding_error(const Graph& graph, NodeId node) const {
  const ZdnnKernel* const kernel = kernel_of(graph.node(node));
  return kernel == nullptr ? 0 : kernel->int8_error() * share_of_few(graph.node(node).result);
}

double ZdnnDevice::rounding_error(const Graph& graph, NodeId node) const {
  const ZdnnKernel* const kernel = kernel_of(graph.node(node));
  if (kernel == nullptr) return 0;
  const Tensor& result = graph.node(node).result;
  // A single number that is lost is all of it.
  if (kernel->vanishes() && element_count(result.shape) == 1) return 1;
  return kernel->roundings(NodeView(graph, node), *machine_) * kUnitRoundoff * kUnitRoundoff *
         share_of_few(result);
}

double ZdnnDevice::largest_number() const {
  return machine_->saturates() ? double{kLargest} : std::numeric_limits<double>::infinity();
}

Result<std::unique_ptr<Stream>> ZdnnDevice::open_stream() {
  return std::make_unique<ZdnnStream>();
}

Result<std::unique_ptr<Program>> ZdnnDevice::prepare(const SegmentView& segment) {
  return zdnn::prepare(segment, {*machine_, table_, constants_, ranges_});
}

}  // namespace shunt::zdnn
