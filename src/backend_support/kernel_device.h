// The parts of a synchronous device that follow from its table of kernels.
#pragma once

#include <memory>

#include "backend_support/host_binding.h"
#include "backend_support/packed_memory.h"
#include "device/kernel_table.h"

namespace shunt {

/// `K`: the type of the backend's kernels. A device gives prepare() its kernel_table() and
/// target(); the bindings of its programs are HostBindings.
template <class K>
class KernelDevice : public Device {
 public:
  using Target = typename K::Target;

  template <class Files>
  explicit KernelDevice(const Files& kernel_files) : table_(kernel_files) {}
  virtual const Target& target() const = 0;
  const KernelTable<K>& kernel_table() const { return table_; }
  /// Null for leaves, views, and ops that have no kernel.
  const K* kernel_of(const Node& node) const {
    return node.op == nullptr ? nullptr : table_.find(*node.op);
  }

  /// The answer of the kernel. No, with the name of the memory, if the kernel can't read a source
  /// in packed memory of the device.
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    Support answer = table_.supports(graph, node, target(), memory);
    const K* const kernel = kernel_of(graph.node(node));
    if (!answer || kernel == nullptr) return answer;
    const NodeView view(graph, node, memory);
    for (std::size_t s = 0; s < view.node().sources.size(); ++s) {
      if (!view.has_source(s)) continue;
      const auto* const packed = dynamic_cast<const PackedMemory*>(view.source_memory(s));
      // From memory that the device can't read, the source comes as a plain copy.
      if (packed == nullptr || !can_read(*packed)) continue;
      const bool readable = packed->packs(view.owner(s))
                                ? !view.is_view(s) && reads_packed(*kernel, view, s)
                                : reads_plain_in(*packed);
      if (readable) continue;
      return Support::no(Refusal::kLayout, "it can't read source " + std::to_string(s) + " in " +
                                               std::string(packed->name()) + " memory");
    }
    return answer;
  }
  Result<std::unique_ptr<Stream>> open_stream() override { return std::make_unique<HostStream>(); }

 protected:
  /// Whether a kernel reads a packed leaf of this device. Of a view it never does.
  virtual bool reads_packed(const K&, const NodeView&, std::size_t) const { return false; }
  /// Whether all kernels read the plain bytes of such memory, which Buffer::host_data() does not
  /// give.
  virtual bool reads_plain_in(const PackedMemory&) const { return false; }

 private:
  KernelTable<K> table_;
};

}  // namespace shunt
