// Host memory whose matrices lie interleaved (interleaved.h).
#pragma once

#include <memory>

#include "device/kernel_table.h"
#include "shunt/device.h"

namespace shunt::cpu {

/// Matrices that allocate_for() is told of lie interleaved if can_interleave() says so, all else is
/// plain. Exact; not host_accessible(), as its bytes are not those of plain memory.
BufferType& interleaved_memory();
/// Where a buffer of that type starts.
std::byte* interleaved_data(Buffer& buffer);
/// Whether a tensor lies at a place of such a buffer as can_interleave() says. A tensor that has
/// bytes does if allocate_for() was told of it.
bool lies_as_expected(const Buffer& buffer, std::size_t offset, const Tensor& tensor);

/// Whether interleaved rows of a type can be multiplied as they lie, at this vector level.
bool has_lanes(DType type);
/// Whether a node, or a source of one, lies interleaved, itself or what it is a view of.
bool is_interleaved(const SegmentView& segment, NodeId id);
bool is_interleaved(const NodeView& node, std::size_t source);

}  // namespace shunt::cpu
