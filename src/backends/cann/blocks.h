// Tensors of block types in device memory, as GGUF has them. The vendor has no such types: the
// parts of the blocks are views with strides, which its operators decode and encode.
#pragma once

#include "backends/cann/calls.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

/// A tensor of a block type. Sizes in elements and strides in bytes, the innermost dimension first;
/// stride 0 is that of a block.
struct BlockTensor {
  DType type = DType::kQ8_0;
  View::Dims sizes;
  View::Dims strides;
  DevicePointer data = nullptr;
};

/// The types that are decoded and encoded: Q8_0 and Q4_0.
bool has_blocks(DType type);
/// Whether elements can be read: has_data_type() or has_blocks().
bool has_elements(DType type);

/// A source or the result of a node, whichever block type it has.
BlockTensor block_source(const Operands& node, std::size_t i);
BlockTensor block_result(const Operands& node);

/// The elements, contiguous, as F32 or F16 (`to`). Of a type that has_blocks(). Exact in F32;
/// rounded once in F16.
View dequantize(Calls& calls, const BlockTensor& from, DataType to);
/// A source as F32 or F16, contiguous or not. Of a type that has_elements().
View elements_of(Calls& calls, const Operands& node, std::size_t i, DataType to);

/// Encodes F32 numbers as the format's encoder does. `from` has the sizes of `to`, and is read
/// before `to` is written.
void quantize(Calls& calls, const BlockTensor& to, const View& from);

/// The bytes of a tensor of any block type. Dimension 0 has the bytes of a row, as elements of the
/// widest type of integers of which a block is a whole multiple.
View raw_view(const BlockTensor& tensor);
View raw_source(const Operands& node, std::size_t i);
View raw_result(const Operands& node);
/// The tensor of `type` whose raw_view() this is.
BlockTensor blocks_in(DType type, const View& raw);

/// Rows of a table [C, R, T2, T3] by Int32 indices [N, T2, T3, 1]: [C, N, T2, T3], contiguous.
/// `table` may be plain or a raw_view(). The indices are in range (Calls::indices()).
View gather_rows(Calls& calls, const View& table, const View& indices);

}  // namespace shunt::cann
