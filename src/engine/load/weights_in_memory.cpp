#include "engine/load/weights_in_memory.h"

#include <algorithm>

#include "base/aligned_bytes.h"
#include "base/file.h"
#include "base/to_size.h"
#include "schedule/explain/transcode.h"
#include "tensor/bytes_of.h"

namespace shunt {

namespace {

/// Largest number of bytes that are read ahead and not released yet while a weight is copied.
constexpr std::size_t kCopyPiece = std::size_t{8} << 20;
/// Rows that a layout may rearrange among each other: pieces are multiples, so that none of that is
/// done twice.
constexpr std::size_t kRowsTogether = 64;

std::size_t piece_of(const Tensor& tensor) {
  const auto rows = to_size(tensor.stride(1)) * kRowsTogether;
  return rows == 0 ? kCopyPiece : std::max<std::size_t>(kCopyPiece / rows, 1) * rows;
}

/// Copies a weight piece by piece. `is_mapped`: whether its bytes are those of a mapped file.
Status copy(std::span<const std::byte> bytes, bool is_mapped, const WeightInMemory& weight,
            Address to, const std::function<void(std::uint64_t)>& done, const WeightWriter& write) {
  const gguf::TensorInfo& info = *weight.info;
  std::vector<std::byte> converted;
  const bool as_in_memory = is_as_in_memory(info.tensor.dtype, info.order);
  const std::size_t most = piece_of(weight.tensor);
  for (std::size_t at = 0; at < bytes.size(); at += most) {
    const std::span<const std::byte> piece = bytes.subspan(at, std::min(most, bytes.size() - at));
    std::span<const std::byte> written = piece;
    if (is_mapped) read_ahead(piece);
    if (!as_in_memory) {
      converted.assign(piece.begin(), piece.end());
      convert_byte_order(info.tensor.dtype, info.order, converted);
      written = converted;
    }
    SHUNT_TRY(write({to.buffer, to.offset + at}, written));
    // With the page that this piece shares with the one before.
    const std::size_t from = at - std::min(at, page_size());
    if (is_mapped) let_go(bytes.subspan(from, at + piece.size() - from));
    done(piece.size());
  }
  return ok();
}

/// Brings bytes of a weight into memory, in the type that it has there.
Status bring(std::span<const std::byte> bytes, bool is_mapped, const WeightInMemory& weight,
             Address to, const std::function<void(std::uint64_t)>& done, const WeightWriter& write,
             TranscodeError& error) {
  const gguf::TensorInfo& info = *weight.info;
  if (weight.tensor.dtype == info.tensor.dtype) {
    return copy(bytes, is_mapped, weight, to, done, write);
  }
  SHUNT_ASSIGN(const TranscodeError cost, transcode(bytes, info.tensor.dtype, info.order, to,
                                                    weight.tensor.dtype, done, write));
  error.add(cost);
  return ok();
}

/// Where a row starts, in bytes; rows are counted through all higher dimensions.
std::size_t row_start(const Tensor& tensor, std::int64_t row) {
  const std::int64_t matrix = row / tensor.size(1);
  return to_size(row % tensor.size(1) * tensor.stride(1) +
                 matrix % tensor.size(2) * tensor.stride(2) +
                 matrix / tensor.size(2) * tensor.stride(3));
}

/// The same for columns of a matrix: they are gathered from a group of its rows at a time. `bytes`:
/// from the first to the last of them.
Status bring_columns(std::span<const std::byte> bytes, bool is_mapped, const WeightInMemory& weight,
                     Address to, const std::function<void(std::uint64_t)>& done,
                     const WeightWriter& write, TranscodeError& error) {
  const Tensor& in_file = weight.info->tensor;
  Tensor row = in_file;
  row.shape = {in_file.shape[0]};
  const auto row_bytes = bytes_of(row);
  const std::int64_t rows = in_file.size(1) * in_file.size(2) * in_file.size(3);
  const auto most = static_cast<std::int64_t>(piece_of(in_file)) / in_file.stride(1);
  std::vector<std::byte> gathered;
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t last = std::min(first + most, rows) - 1;
    const std::size_t start = row_start(in_file, first);
    const std::size_t end = row_start(in_file, last) + row_bytes;
    if (is_mapped) read_ahead(bytes.subspan(start, end - start));
    gathered.clear();
    for (std::int64_t i = first; i <= last; ++i) {
      const auto part = bytes.subspan(row_start(in_file, i), row_bytes);
      gathered.insert(gathered.end(), part.begin(), part.end());
    }
    const auto written = to_size(first * weight.tensor.stride(1));
    SHUNT_TRY(bring(gathered, false, weight, {to.buffer, to.offset + written}, done, write, error));
    // With the page that this group shares with the one before.
    const std::size_t from = start - std::min(start, page_size());
    if (is_mapped) let_go(bytes.subspan(from, end - from));
  }
  return ok();
}

}  // namespace

bool uses_mapped_file(Device& device) {
  return &device.memory() == &host_memory();
}

bool is_used_in_place(const gguf::TensorInfo& weight, Device& device) {
  return uses_mapped_file(device) && is_as_in_memory(weight.tensor.dtype, weight.order) &&
         is_contiguous(weight.tensor);
}

Result<Tensor> compact_tensor(const gguf::TensorInfo& weight) {
  return make_tensor(weight.tensor.dtype, weight.tensor.shape);
}

FileRange file_range(const gguf::File& file, const gguf::TensorInfo& weight) {
  return {file.data(weight).data(), weight.bytes};
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
  tensors.reserve(made.weights.size());
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
    const gguf::File& file, const std::function<void(std::uint64_t)>& done,
    UploadRing* ring) const {
  const WeightWriter write = [ring](Address to, std::span<const std::byte> from) {
    return ring == nullptr ? to.buffer->write(to.offset, from) : ring->write(to, from);
  };
  std::vector<TranscodeError> errors(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const gguf::TensorInfo& info = *weights[i].info;
    const bool is_mapped = file.mapping(info.part) != nullptr;
    const auto bring_it = is_contiguous(info.tensor) ? bring : bring_columns;
    SHUNT_TRY(bring_it(file.data(info), is_mapped, weights[i], address(i), done, write, errors[i]));
  }
  if (ring != nullptr) SHUNT_TRY(ring->finish());
  // Pages that came again with their neighbours.
  for (const auto& [info, tensor, name] : weights) {
    if (file.mapping(info->part) != nullptr) let_go(file.data(*info));
  }
  return errors;
}

}  // namespace shunt
