#include "engine/weights_in_memory.h"

#include <algorithm>

#include "base/aligned_bytes.h"
#include "base/file.h"
#include "schedule/transcode.h"

namespace shunt {

namespace {

/// Most that is read ahead and not yet let go, while a weight is copied.
constexpr std::size_t kPiece = std::size_t{8} << 20;
/// Rows that a layout may rearrange among each other: pieces are multiples, so that none of that is
/// done twice.
constexpr std::size_t kRowsTogether = 64;

std::size_t piece_of(const Tensor& tensor) {
  const auto rows = static_cast<std::size_t>(tensor.stride(1)) * kRowsTogether;
  return rows == 0 ? kPiece : std::max<std::size_t>(kPiece / rows, 1) * rows;
}

/// Copies a weight piece by piece. `is_mapped`: whether its bytes are those of a mapped file.
Status copy(std::span<const std::byte> bytes, bool is_mapped, const gguf::TensorInfo& info,
            Address to, const std::function<void(std::uint64_t)>& done) {
  std::vector<std::byte> converted;
  const bool as_in_memory = is_as_in_memory(info.tensor.dtype, info.order);
  const std::size_t most = piece_of(info.tensor);
  for (std::size_t at = 0; at < bytes.size(); at += most) {
    const std::span<const std::byte> piece = bytes.subspan(at, std::min(most, bytes.size() - at));
    std::span<const std::byte> written = piece;
    if (is_mapped) read_ahead(piece);
    if (!as_in_memory) {
      converted.assign(piece.begin(), piece.end());
      convert_byte_order(info.tensor.dtype, info.order, converted);
      written = converted;
    }
    SHUNT_TRY(to.buffer->write(to.offset + at, written));
    // With the page that this piece shares with the one before.
    const std::size_t from = at - std::min(at, page_size());
    if (is_mapped) let_go(bytes.subspan(from, at + piece.size() - from));
    done(piece.size());
  }
  return ok();
}

}  // namespace

bool uses_mapped_file(Device& device) {
  return &device.memory() == &host_memory();
}

bool is_used_in_place(const gguf::TensorInfo& weight, Device& device) {
  return uses_mapped_file(device) && is_as_in_memory(weight.tensor.dtype, weight.order);
}

Result<MemoryLayout> side_by_side(const BufferType& type, std::span<const Tensor* const> tensors) {
  std::vector<MemoryRequest> requests;
  for (const Tensor* tensor : tensors) requests.push_back({type.size_of(*tensor), 0, 0});
  return plan_memory(requests, type.alignment(), type.max_size());
}

Result<std::vector<std::unique_ptr<Buffer>>> allocate_blocks(
    BufferType& type, const MemoryLayout& layout, std::span<const Tensor* const> tensors) {
  std::vector<std::vector<PlacedTensor>> placed(layout.block_bytes.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const MemoryPlace& place = layout.places[i];
    if (place.block < placed.size()) placed[place.block].push_back({*tensors[i], place.offset});
  }
  std::vector<std::unique_ptr<Buffer>> blocks;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::size_t bytes = layout.block_bytes[i];
    SHUNT_ASSIGN(auto block,
                 tensors.empty() ? type.allocate(bytes) : type.allocate_for(bytes, placed[i]));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Result<WeightBlocks> WeightBlocks::allocate(BufferType& type, std::vector<WeightInMemory> weights) {
  WeightBlocks made;
  made.weights = std::move(weights);
  std::vector<const Tensor*> tensors;
  for (const WeightInMemory& weight : made.weights) tensors.push_back(&weight.tensor);
  SHUNT_ASSIGN(made.layout, side_by_side(type, tensors));
  SHUNT_ASSIGN(made.blocks, allocate_blocks(type, made.layout, tensors));
  return made;
}

Address WeightBlocks::address(std::size_t index) const {
  const MemoryPlace& place = layout.places[index];
  return {blocks[place.block].get(), place.offset};
}

Result<std::vector<TranscodeError>> WeightBlocks::fill(
    const gguf::File& file, const std::function<void(std::uint64_t)>& done) const {
  std::vector<TranscodeError> errors(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const gguf::TensorInfo& info = *weights[i].info;
    const std::span<const std::byte> bytes = file.data(info);
    const Address to = address(i);
    if (weights[i].tensor.dtype != info.tensor.dtype) {
      SHUNT_ASSIGN(errors[i], transcode(bytes, info.tensor.dtype, info.order, to,
                                        weights[i].tensor.dtype, done));
      continue;
    }
    SHUNT_TRY(copy(bytes, file.mapping(info.part) != nullptr, info, to, done));
  }
  // What came again with its neighbours.
  for (const auto& [info, tensor, name] : weights) {
    if (file.mapping(info->part) != nullptr) let_go(file.data(*info));
  }
  return errors;
}

}  // namespace shunt
