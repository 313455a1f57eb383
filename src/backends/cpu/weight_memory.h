// Host memory with interleaved matrices (interleaved.h).
#pragma once

#include <memory>

#include "backend_support/cpu_threads.h"
#include "backend_support/packed_memory.h"
#include "backends/cpu/simd/level.h"
#include "device/kernel_table.h"
#include "shunt/device.h"

namespace shunt::cpu {

/// Matrices of allocate_for() are interleaved if can_interleave() allows it, all other bytes are
/// plain. Exact; not host_accessible(), as its bytes are not those of plain memory. Any CPU device
/// reads that of any other.
class InterleavedMemory final : public PackedMemory {
 public:
  /// Buffers are in `plain`, memory that the host can access. These threads rearrange written and
  /// read bytes, or the calling thread while a run has them.
  InterleavedMemory(BufferType& plain, std::shared_ptr<CpuThreads> threads)
      : PackedMemory("host, 16 rows interleaved",
                     {Layout{}, {LayoutKind::kPacked, true, "16 rows interleaved"}}),
        plain_(plain),
        threads_(std::move(threads)) {}
  std::size_t alignment() const override { return plain_.alignment(); }
  std::size_t max_size() const override { return plain_.max_size(); }
  BufferType* container() override { return &plain_; }
  bool packs(const Tensor& tensor) const override;

 protected:
  std::size_t packed_bytes(const Tensor& tensor) const override;
  std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                      std::size_t offset) const override;
  Result<std::unique_ptr<Buffer>> allocate_bytes(std::size_t bytes) override {
    return plain_.allocate(bytes);
  }

 private:
  BufferType& plain_;
  std::shared_ptr<CpuThreads> threads_;
};

/// Whether memory is of that kind; null is not.
bool is_interleaved_memory(const BufferType* type);
/// Whether interleaved rows of a type can be multiplied in place, at a vector level.
bool multiplies_interleaved(simd::Level level, DType type);
/// Whether a node, or a source of one, or the node that it views, is interleaved.
bool is_interleaved(const SegmentView& segment, NodeId id);
bool is_interleaved(const NodeView& node, std::size_t source);

}  // namespace shunt::cpu
