#include "engine/load/promised_memory.h"

#include <limits>

#include "shunt/message.h"

namespace shunt {

namespace {

class PromisedBuffer final : public Buffer {
 public:
  explicit PromisedBuffer(const BufferType& type) : type_(type) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return std::numeric_limits<std::size_t>::max(); }
  Status write(std::size_t, std::span<const std::byte>) override { return not_there(); }
  Status read(std::size_t, std::span<std::byte>) override { return not_there(); }

 private:
  static Status not_there() { return invalid("this memory is not allocated yet"); }
  const BufferType& type_;
};

}  // namespace

Address PromisedMemory::in(const BufferType& type) {
  auto& buffer = buffers_[&type];
  if (!buffer) buffer = std::make_unique<PromisedBuffer>(type);
  return {buffer.get(), 0};
}

std::vector<LeafMemory> PromisedMemory::promise(const ModelState& model, const StepGraph& step,
                                                const Homes& homes) {
  std::vector<LeafMemory> memory;
  for (const WeightLeaf& weight : step.weights) {
    const DeviceIndex home = homes.weights.at(weight.info);
    memory.push_back({weight.leaf, in(model.memory_type(*weight.info, home))});
  }
  for (std::size_t i = 0; i < step.caches.size(); ++i) {
    Device& home = *model.devices[homes.caches[i]];
    memory.push_back({step.caches[i], in(home.memory())});
  }
  return memory;
}

}  // namespace shunt
