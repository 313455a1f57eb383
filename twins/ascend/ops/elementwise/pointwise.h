// Shared by elementwise operators: the type they compute in, operands read in it, results cast.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ascend/ops/op.h"

namespace ascend_twin {

/// The type of a tensor with a scalar: a float tensor keeps its type, an integer one becomes F32 by
/// a float scalar.
aclDataType promote_scalar(aclDataType tensor, aclDataType scalar);

/// Elements as `type` holds them, in the order of `shape`, to which the operand broadcasts.
std::vector<double> read_as(const Operand& operand, const Shape& shape, aclDataType type);
/// Of integers only.
std::vector<std::int64_t> read_integers_as(const Operand& operand, const Shape& shape,
                                           aclDataType type);

/// A result of `type`, cast to the type of `out`. `values` are rounded in place.
void write_cast(const Operand& out, aclDataType type, std::vector<double>& values);
void write_cast(const Operand& out, aclDataType type, std::vector<std::int64_t>& values);

/// Workspace for casts of the operands whose type is not `type`, and of a tensor for the results
/// whose type is not `result`.
std::uint64_t cast_bytes(const Call& call, aclDataType type, aclDataType result);

/// The tensor that is written: the last argument, or the first of an operator in place.
std::size_t output_of(const Call& call);

/// The formats and types of all tensors: no private format, and BF16 only where the chip has it.
Status check_tensors(const Call& call);

/// Some calls end the process on a board: rows "fatal:NAME" of support.inc. Strict mode objects,
/// otherwise the call is refused with 507018.
Status check_survives(const Call& call, aclDataType type);

}  // namespace ascend_twin
