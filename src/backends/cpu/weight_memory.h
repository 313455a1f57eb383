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
class InterleavedMemory final : public PackedInMemory {
 public:
  /// Buffers are in `plain`, memory that the host can access. These threads rearrange written and
  /// read bytes, or the calling thread while a run has them.
  InterleavedMemory(BufferType& plain, std::shared_ptr<CpuThreads> threads)
      : PackedInMemory("host, 16 rows interleaved",
                       {Layout{}, {LayoutKind::kPacked, true, "16 rows interleaved"}}, plain),
        threads_(std::move(threads)) {}
  BufferType* container() override { return &memory(); }
  bool packs(const Tensor& tensor) const override;

 protected:
  std::size_t packed_bytes(const Tensor& tensor) const override;
  std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                      std::size_t offset) const override;

 private:
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
