// The memory of quantised weights as the vendor's product with such weights takes them: the numbers
// of all elements, then the scales of all blocks. It is written and read as GGUF has them.
#pragma once

#include <string>
#include <vector>

#include "backend_support/packed_memory.h"
#include "backends/cann/chip.h"
#include "backends/cann/tensor.h"
#include "device/kernel_table.h"

namespace shunt::cann {

/// Elements of a block, which have one scale.
inline constexpr std::int64_t kScaledElements = 32;
/// The largest side of a matrix that the product takes.
inline constexpr std::int64_t kMostSide = 65535;

/// Where the parts of a weight are in its memory.
struct WeightLayout {
  DataType code = DataType::kInt8;  ///< type of a number
  std::int64_t blocks = 0;
  std::size_t scales_at = 0;  ///< bytes from the first number to the first scale
  std::size_t bytes = 0;      ///< of both, with the bytes behind that operators may read
};
/// `tensor`: contiguous, of type Q8_0 or Q4_0.
WeightLayout layout_of(const Tensor& tensor);

/// Holds matrices of the types that the chip's product takes, and several of them in a tensor. Each
/// tensor is exact when it is read back.
class WeightMemory final : public PackedInMemory {
 public:
  /// Buffers are in `memory`, that of the device, which must outlive this.
  WeightMemory(std::string name, BufferType& memory, const Chip& chip);

  bool packs(const Tensor& tensor) const override;

 protected:
  std::size_t packed_bytes(const Tensor& tensor) const override;
  std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                      std::size_t offset) const override;

 private:
  const Chip& chip_;
};

/// The form of such a weight for Device::weight_forms(); none if the memory does not hold it.
std::vector<WeightCandidate> weight_forms(WeightMemory& memory, const Graph& graph, NodeId leaf);

/// Whether a source of a node, or the leaf that it views, is rearranged.
bool is_rearranged(const NodeView& view, std::size_t source);

}  // namespace shunt::cann
