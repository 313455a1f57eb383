// Results in which each element needs the one before: running sums, triangular systems.
#include "ascend/include/acl/aclnn_index.h"
#include "ascend/ops/shapes/dimensions.h"

namespace ascend_twin {
namespace {

namespace cumsum {
enum { kSelf, kDimension, kType, kOut };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(call, kSelf, call.integer(kDimension), &axis));
  ASCEND_TWIN_TRY(need_shape(call, kOut, call.view(kSelf).shape));
  if (call.view(kOut).type != call.integer(kType) || call.view(kOut).type == ACL_BOOL) {
    return invalid_argument(call, kOut,
                            "not of type number " + std::to_string(call.integer(kType)));
  }
  ASCEND_TWIN_TRY(need_castable(call, call.view(kSelf).type, kOut));
  return ACL_SUCCESS;
}

/// `Value` is unsigned for integers, which wrap around.
template <class Value>
void add_up(std::vector<Value>& values, const Split& split) {
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    for (std::int64_t i = 1; i < split.size; ++i) {
      const std::int64_t row = (outer * split.size + i) * split.inner;
      for (std::int64_t inner = row; inner < row + split.inner; ++inner) {
        values[static_cast<std::size_t>(inner)] +=
            values[static_cast<std::size_t>(inner - split.inner)];
      }
    }
  }
}

/// Summed in double precision, or exactly, and rounded once.
Status run(Kernel& kernel) {
  const Operand& self = kernel.operand(kSelf);
  const Operand& out = kernel.operand(kOut);
  std::size_t axis = 0;
  ASCEND_TWIN_TRY(dimension_of(kernel.call, kSelf, kernel.call.integer(kDimension), &axis));
  const Split split = split_at(self.view.shape, axis);
  if (is_float(out.view.type)) {
    std::vector<double> values = read(self);
    add_up(values, split);
    write(out, values);
    return ACL_SUCCESS;
  }
  const std::vector<std::int64_t> read_values = read_integers(self);
  std::vector<std::uint64_t> values(read_values.begin(), read_values.end());
  add_up(values, split);
  write_integers(out, std::vector<std::int64_t>(values.begin(), values.end()));
  return ACL_SUCCESS;
}

constexpr Op kOp{.name = "Cumsum", .roles = "inno", .check = check, .run = run};
}  // namespace cumsum

namespace triangular_solve {
enum { kRight, kMatrix, kUpper, kTranspose, kUnit, kOut, kCopy };

Status check(Call& call) {
  ASCEND_TWIN_TRY(need_plain(call));
  ASCEND_TWIN_TRY(need_rank(call, kRight, 2, 8));
  ASCEND_TWIN_TRY(need_rank(call, kMatrix, 2, 8));
  for (const std::size_t position : {kMatrix, kOut, kCopy})
    ASCEND_TWIN_TRY(need_same_type(call, kRight, position));
  const Shape& b = call.view(kRight).shape;
  const Shape& a = call.view(kMatrix).shape;
  if (a[a.size() - 1] != a[a.size() - 2] || a.back() != b[b.size() - 2])
    return invalid_argument(call, kMatrix, "not square, or not of the rows of " + text_of(b));
  Shape batch;
  if (!broadcast_shapes(Shape(b.begin(), b.end() - 2), Shape(a.begin(), a.end() - 2), &batch))
    return invalid_argument(call, kMatrix, "batches that do not fit");
  Shape out = batch;
  out.insert(out.end(), b.end() - 2, b.end());
  ASCEND_TWIN_TRY(need_shape(call, kOut, out));
  batch.insert(batch.end(), a.end() - 2, a.end());
  return need_shape(call, kCopy, batch);
}

/// Row after row, from the one that has no unknown but its own.
void solve(const double* a, double* x, std::int64_t n, std::int64_t columns, bool upper,
           bool transposed, bool unit) {
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return transposed ? a[column * n + row] : a[row * n + column];
  };
  const bool from_below = upper != transposed;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t row = from_below ? n - 1 - step : step;
    for (std::int64_t column = 0; column < columns; ++column) {
      double value = x[row * columns + column];
      for (std::int64_t known = 0; known < step; ++known) {
        const std::int64_t other = from_below ? n - 1 - known : known;
        value -= at(row, other) * x[other * columns + column];
      }
      x[row * columns + column] = unit ? value : value / at(row, row);
    }
  }
}

Status run(Kernel& kernel) {
  const Operand& out = kernel.operand(kOut);
  const Operand& copy = kernel.operand(kCopy);
  const Operand right =
      viewed(kernel.operand(kRight), broadcast(kernel.operand(kRight).view, out.view.shape));
  const Operand matrix =
      viewed(kernel.operand(kMatrix), broadcast(kernel.operand(kMatrix).view, copy.view.shape));
  std::vector<double> x = read(right);
  const std::vector<double> a = read(matrix);
  const std::int64_t n = out.view.shape[out.view.rank() - 2];
  const std::int64_t columns = out.view.shape.back();
  const std::int64_t batches = n * columns == 0 ? 0 : out.view.elements() / (n * columns);
  for (std::int64_t i = 0; i < batches; ++i) {
    solve(a.data() + i * n * n, x.data() + i * n * columns, n, columns,
          kernel.call.integer(kUpper) != 0, kernel.call.integer(kTranspose) != 0,
          kernel.call.integer(kUnit) != 0);
  }
  copy_elements(matrix, copy);
  write(out, x);
  return ACL_SUCCESS;
}

/// Copies of both operands.
std::uint64_t workspace(const Call& call) {
  return bytes_of(call.view(kOut).type, static_cast<std::uint64_t>(call.view(kOut).elements() +
                                                                   call.view(kCopy).elements()));
}

constexpr Op kOp{.name = "TriangularSolve",
                 .roles = "iinnnoo",
                 .check = check,
                 .run = run,
                 .workspace = workspace};
}  // namespace triangular_solve

}  // namespace
}  // namespace ascend_twin

ASCEND_OP(Cumsum, ascend_twin::cumsum::kOp, (self, dim, dtype, out), const aclTensor* self,
          int64_t dim, aclDataType dtype, aclTensor* out)
ASCEND_OP(TriangularSolve, ascend_twin::triangular_solve::kOp,
          (self, A, upper, transpose, unitriangular, xOut, mOut), const aclTensor* self,
          const aclTensor* A, bool upper, bool transpose, bool unitriangular, aclTensor* xOut,
          aclTensor* mOut)
