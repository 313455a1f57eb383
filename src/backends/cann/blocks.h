// Tensors of all types in device memory, those of block types as GGUF has them. The vendor has no
// such types: the parts of blocks are views with strides, which its operators decode and encode.
#pragma once

#include "backends/cann/calls.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

/// A tensor of any type. Sizes in elements and strides in bytes, the innermost dimension first;
/// stride 0 of a block type is that of a block.
struct StoredTensor {
  DType type = DType::kF32;
  View::Dims sizes;
  View::Dims strides;
  DevicePointer data = nullptr;
};
StoredTensor stored_source(const Operands& node, std::size_t i);
StoredTensor stored_result(const Operands& node);

/// The block types that are decoded and encoded: Q8_0 and Q4_0.
bool has_blocks(DType type);
/// Whether elements can be read: has_data_type() or has_blocks().
bool has_elements(DType type);

/// The elements of a tensor of a type that has_data_type().
View plain_view(const StoredTensor& tensor);
/// Elements that are moved and not computed with, of any type. Blocks become rows of integers, of
/// the widest type of which a block is a whole multiple; a type that the chip has not becomes
/// integers.
View moved_view(const StoredTensor& tensor, const Chip& chip);
/// How many elements of moved_view() these elements are.
std::int64_t moved_count(DType type, std::int64_t elements);
/// The tensor of `type` whose moved_view() this is.
StoredTensor stored_in(DType type, const View& moved);

/// The elements, contiguous, as F32 or F16 (`to`). Of a type that has_blocks(). Exact in F32;
/// rounded once in F16.
View dequantize(Calls& calls, const StoredTensor& from, DataType to);
/// The elements as F32 or F16, contiguous or not. Of a type that has_elements().
View elements_of(Calls& calls, const StoredTensor& from, DataType to);

/// A contiguous copy of floats in which not-a-number is 0.
View without_nan(Calls& calls, const View& from);

/// Encodes F32 numbers as the format's encoder does. `from` has the sizes of `to`, and is read
/// before `to` is written.
void quantize(Calls& calls, const StoredTensor& to, const View& from);

/// Rows of a table [C, R, T2, T3] by Int32 indices [N, T2, T3, 1]: [C, N, T2, T3], contiguous.
/// `table` may be plain or a moved_view(). The indices are in range (Calls::indices()).
View gather_rows(Calls& calls, const View& table, const View& indices);

}  // namespace shunt::cann
