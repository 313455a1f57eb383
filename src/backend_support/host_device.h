// A whole device for a backend whose kernels are launched one by one, in plain host memory. Such a
// device derives HostDevice and defines info().
#pragma once

#include "backend_support/kernel_device.h"
#include "backend_support/node_program.h"

namespace shunt {

/// `Context`: what launches share. `K`: the kernels' type, a NodeKernel<Context>.
template <class Context, class K = NodeKernel<Context>>
class HostDevice : public KernelDevice<K> {
 public:
  using Target = typename K::Target;

  template <class Files>
  HostDevice(const Files& kernel_files, Context context, Target target = {})
      : KernelDevice<K>(kernel_files), context_(std::move(context)), target_(std::move(target)) {}
  const Target& target() const override { return target_; }
  bool can_read(const BufferType& type) const override { return type.host_accessible(); }
  BufferType& memory() override { return host_memory(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return prepare_nodes<Context, K>(segment, this->kernel_table(), context_, target_);
  }
  const Context& context() const { return context_; }

 private:
  Context context_;
  Target target_;
};

}  // namespace shunt
