// Bringing weights of a file into a device's memory, in the byte order of memory; or using them in
// place in the mapped file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/upload_ring.h"
#include "memory/planner.h"
#include "shunt/device.h"
#include "shunt/explain.h"
#include "shunt/gguf.h"

namespace shunt {

/// Whether this device can use the mapped file: its memory is the host's.
bool uses_mapped_file(Device& device);
/// Whether it can use this weight there: its bytes have the order that memory has, and are in one
/// piece.
bool is_used_in_place(const gguf::TensorInfo& weight, Device& device);

/// A weight as it is in memory: contiguous.
Result<Tensor> compact_tensor(const gguf::TensorInfo& weight);
/// Where a weight is in the mapped file: its start, and its bytes. Two leaves may have the same.
using FileRange = std::pair<const std::byte*, std::uint64_t>;
FileRange file_range(const gguf::File& file, const gguf::TensorInfo& weight);

/// Tensors side by side in memory of a type.
Result<MemoryLayout> side_by_side(const BufferType& type, std::span<const Tensor* const> tensors);

/// Buffers for a layout. All or none. `tensors`: those of the layout, if the memory is to know the
/// place of each.
Result<std::vector<std::unique_ptr<Buffer>>> allocate_blocks(
    BufferType& type, const MemoryLayout& layout, std::span<const Tensor* const> tensors = {});

/// A weight, and its tensor in memory: of the file's type or of another one.
struct WeightInMemory {
  const gguf::TensorInfo* info = nullptr;
  Tensor tensor;
  std::string name = {};  ///< of its leaf
};

/// Weights side by side in memory of one kind.
struct WeightBlocks {
  std::vector<WeightInMemory> weights;
  MemoryLayout layout;
  std::vector<std::unique_ptr<Buffer>> blocks;

  /// Allocates; the content comes later. OutOfMemory.
  static Result<WeightBlocks> allocate(BufferType& type, std::vector<WeightInMemory> weights);
  Address address(std::size_t index) const;
  /// Fills them from the file. Pages of the file are released once they are copied. Columns of a
  /// matrix are gathered from some of its rows at a time. `done` gets bytes of the file as they
  /// come. `ring` brings them to the device; null: Buffer::write(). Returns the errors of
  /// transcoding, by weight.
  Result<std::vector<TranscodeError>> fill(const gguf::File& file,
                                           const std::function<void(std::uint64_t)>& done,
                                           UploadRing* ring = nullptr) const;
};

}  // namespace shunt
