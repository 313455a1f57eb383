#include "engine/weights_in_memory.h"

#include <bit>

namespace shunt {

namespace {

/// Files are little-endian; where the host is not, weights can't be used in place.
constexpr bool kUsedInPlace = std::endian::native == std::endian::little;

}  // namespace

bool uses_mapped_file(Device& device) {
  return kUsedInPlace && &device.memory() == &host_memory();
}

Result<MemoryLayout> side_by_side(const BufferType& type, std::span<const Tensor* const> tensors) {
  std::vector<MemoryRequest> requests;
  for (const Tensor* tensor : tensors) requests.push_back({type.size_of(*tensor), 0, 0});
  return plan_memory(requests, type.alignment(), type.max_size());
}

Result<std::vector<std::unique_ptr<Buffer>>> allocate_blocks(BufferType& type,
                                                             const MemoryLayout& layout) {
  std::vector<std::unique_ptr<Buffer>> blocks;
  for (std::size_t bytes : layout.block_bytes) {
    SHUNT_ASSIGN(auto block, type.allocate(bytes));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Result<WeightBlocks> WeightBlocks::allocate(Device& device,
                                            std::vector<const gguf::TensorInfo*> infos) {
  WeightBlocks weights;
  weights.infos = std::move(infos);
  std::vector<const Tensor*> tensors;
  for (const gguf::TensorInfo* info : weights.infos) tensors.push_back(&info->tensor);
  SHUNT_ASSIGN(weights.layout, side_by_side(device.memory(), tensors));
  SHUNT_ASSIGN(weights.blocks, allocate_blocks(device.memory(), weights.layout));
  return weights;
}

Address WeightBlocks::address(std::size_t index) const {
  const MemoryPlace& place = layout.places[index];
  return {blocks[place.block].get(), place.offset};
}

Status WeightBlocks::fill(const gguf::File& file,
                          const std::function<void(std::uint64_t)>& done) const {
  std::vector<std::byte> converted;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    std::span<const std::byte> bytes = file.data(*infos[i]);
    if (!kUsedInPlace) {
      converted.assign(bytes.begin(), bytes.end());
      convert_little_endian(infos[i]->tensor.dtype, converted);
      bytes = converted;
    }
    const Address to = address(i);
    SHUNT_TRY(to.buffer->write(to.offset, bytes));
    done(bytes.size());
  }
  return ok();
}

}  // namespace shunt
