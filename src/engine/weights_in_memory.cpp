#include "engine/weights_in_memory.h"

#include <bit>

#include "schedule/transcode.h"

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

Result<WeightBlocks> WeightBlocks::allocate(Device& device, std::vector<WeightInMemory> weights) {
  WeightBlocks made;
  made.weights = std::move(weights);
  std::vector<const Tensor*> tensors;
  for (const WeightInMemory& weight : made.weights) tensors.push_back(&weight.tensor);
  SHUNT_ASSIGN(made.layout, side_by_side(device.memory(), tensors));
  SHUNT_ASSIGN(made.blocks, allocate_blocks(device.memory(), made.layout));
  return made;
}

Address WeightBlocks::address(std::size_t index) const {
  const MemoryPlace& place = layout.places[index];
  return {blocks[place.block].get(), place.offset};
}

Result<std::vector<TranscodeError>> WeightBlocks::fill(
    const gguf::File& file, const std::function<void(std::uint64_t)>& done) const {
  std::vector<TranscodeError> errors(weights.size());
  std::vector<std::byte> converted;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const gguf::TensorInfo& info = *weights[i].info;
    std::span<const std::byte> bytes = file.data(info);
    const Address to = address(i);
    if (weights[i].tensor.dtype != info.tensor.dtype) {
      SHUNT_ASSIGN(errors[i], transcode(bytes, info.tensor.dtype, std::endian::little, to,
                                        weights[i].tensor.dtype, done));
      continue;
    }
    if (!kUsedInPlace) {
      converted.assign(bytes.begin(), bytes.end());
      convert_little_endian(info.tensor.dtype, converted);
      bytes = converted;
    }
    SHUNT_TRY(to.buffer->write(to.offset, bytes));
    done(bytes.size());
  }
  return errors;
}

}  // namespace shunt
