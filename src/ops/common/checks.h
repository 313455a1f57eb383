// The building blocks of shape rules. Each check's error describes its finding, by the source's
// name; the builder adds the op and the operands.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "graph/op.h"

namespace shunt {

/// "64", or "64*" for a dynamic dimension.
std::string to_string(const Dim& dim);

/// "F32, F16 or BF16".
std::string list_types(std::span<const DType> types);

Status expect_type(std::string_view name, const Tensor& tensor, std::span<const DType> allowed);
Status expect_type(std::string_view name, const Tensor& tensor,
                   std::initializer_list<DType> allowed);

/// A type that elements are computed in, and rounded to: F32, F16 or BF16.
Status expect_float_type(std::string_view name, const Tensor& tensor);

/// A type that numbers rows, experts or states: I32 or I64.
Status expect_id_type(std::string_view name, const Tensor& tensor);

/// Any type that numbers are computed from: neither integers nor F64.
Status expect_weight_type(std::string_view name, const Tensor& tensor);

/// A type whose elements can be moved one by one: not a block type.
Status expect_plain_type(std::string_view name, const Tensor& tensor);

/// `count` elements (of dimension 0) are whole blocks of the tensor's type.
Status expect_whole_blocks(std::string_view what, std::int64_t count, std::string_view name,
                           const Tensor& tensor);

/// Elements of `to`'s type can be made of those of `from`: the types are the same, or `to`'s can be
/// encoded without an importance matrix.
Status expect_conversion(std::string_view from_name, const Tensor& from, std::string_view to_name,
                         const Tensor& to);

/// Dimension `dim` of `tensor` must be `wanted`, dynamic dimensions included; `why` says whose that
/// is: "K of w".
Status expect_dim(std::string_view name, const Tensor& tensor, int dim, const Dim& wanted,
                  std::string_view why);

/// Dimension `dim` must not be a dynamic dimension.
Status expect_fixed(std::string_view name, const Tensor& tensor, std::size_t dim);

/// The dimensions from `dims` on must be 1.
Status expect_dims(std::string_view name, const Tensor& tensor, int dims);

/// A tensor of one element: [1].
Status expect_number(std::string_view name, const Tensor& tensor);

Status expect_same_shape(std::string_view a_name, const Tensor& a, std::string_view b_name,
                         const Tensor& b);

/// Whether something of size `part` fits into `whole` a whole number of times, at every value of an
/// dynamic dimension.
bool divides(const Dim& part, const Dim& whole);

/// Each dimension of b must divide that of a.
Status expect_broadcast(std::string_view b_name, const Tensor& b, std::string_view a_name,
                        const Tensor& a);

/// A mask of attention scores of the shape [N, T, H, S]: F32 or F16 [N, T, 1 or H, 1 or S].
Status expect_mask(const Tensor& mask, const Shape& scores);

/// Finite: neither infinite nor not-a-number.
Status expect_finite(std::string_view name, double value);
Status expect_positive(std::string_view name, float value);
Status expect_not_negative(std::string_view name, float value);

/// A contiguous result.
Result<Inferred> contiguous(DType dtype, const Shape& shape);

}  // namespace shunt
