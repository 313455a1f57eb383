// The memory of F16 weights in FRACTAL_NZ, which products of a 310P read as it is: they convert
// plain weights in each call. It is written and read as GGUF has them.
#pragma once

#include <string>
#include <vector>

#include "backend_support/packed_memory.h"
#include "backends/cann/tensor.h"
#include "device/kernel_table.h"

namespace shunt::cann {

/// Holds matrices of F16 whose sides are multiples of 16, exactly. FRACTAL_NZ has fractals of 16
/// rows and 16 columns: the elements of one row by row, then the next 16 rows of the same columns,
/// then the next 16 columns.
class FractalMemory final : public PackedInMemory {
 public:
  /// Buffers are in `memory`, that of the device, which must outlive this. `used`: false if it
  /// holds no tensor.
  FractalMemory(std::string name, BufferType& memory, bool used);

  bool packs(const Tensor& tensor) const override;

 protected:
  std::size_t packed_bytes(const Tensor& tensor) const override;
  std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                      std::size_t offset) const override;

 private:
  bool used_;
};

/// The form of such a weight for Device::weight_forms(); none if the memory does not hold it.
std::vector<WeightCandidate> fractal_forms(FractalMemory& memory, const Graph& graph, NodeId leaf);

/// Whether a source of a node, or the leaf that it views, is in FRACTAL_NZ.
bool is_fractal(const NodeView& view, std::size_t source);

}  // namespace shunt::cann
