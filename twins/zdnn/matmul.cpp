// Matrix multiplication: products of DLFLOAT16 numbers, added up as ZDNN_TWIN_ACCUMULATE says, one
// rounding at the end.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "op.h"
#include "stacks.h"
#include "sum.h"

namespace zdnn_twin {

double compared(zdnn_matmul_ops op, double dot, double with) {
  if (std::isnan(dot) || std::isnan(with)) return dot + with;
  const bool holds[] = {false,       dot > with,  dot >= with, dot == with,
                        dot != with, dot <= with, dot < with};
  return holds[op] ? 1 : 0;
}

namespace {

constexpr std::size_t kColumns = 64;  // computed together

// Row-major (rows, columns) of one stack, columns [first, first + columns), the tensor transposed
// or not. Returns the largest magnitude, NaN if there is one.
template <class Number>
double unpack(const Rows& tensor, std::uint64_t stack, bool transposed, std::uint64_t first,
              std::uint32_t rows, std::size_t columns, std::vector<Number>& out) {
  out.resize(rows * columns);
  std::uint16_t most = 0;
  if (!transposed) {
    for (std::size_t r = 0; r < rows; ++r)
      most = std::max(
          most, tensor.read(stack, 0, r, std::span(out).subspan(r * columns, columns), first));
    return double_from_dlf(most);
  }
  std::vector<Number> line(rows);
  for (std::size_t c = 0; c < columns; ++c) {
    most = std::max(most, tensor.read(stack, 0, first + c, std::span(line)));
    for (std::size_t r = 0; r < rows; ++r) out[r * columns + c] = line[r];
  }
  return double_from_dlf(most);
}

// dots[j] = sum over k of a[k] b[k, j]. A partial sum that is too large for DLFLOAT16 is no number
// any more; `watch` is false where none can be.
template <Accumulate kModel, class Number>
void dot_products(std::span<const Number> a, std::span<const Number> b, std::size_t columns,
                  bool watch, std::span<double> dots) {
  std::array<Accumulator<kModel>, kColumns> sums{};
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Number* line = b.data() + k * columns;
    for (std::size_t j = 0; j < columns; ++j) sums[j].add(a[k] * line[j]);
    for (std::size_t j = 0; watch && j < columns; ++j)
      if (!(std::fabs(sums[j].sum) < Number{kDlfTooLarge}))
        sums[j].sum = std::numeric_limits<Number>::quiet_NaN();
  }
  for (std::size_t j = 0; j < columns; ++j) dots[j] = sums[j].sum;
}

struct Job {
  Stacks stacks;
  Sizes sizes;
  bool transpose_a, transpose_b;
  zdnn_matmul_ops op;
};

template <Accumulate kModel>
void multiply(const Job& job, const zdnn_ztensor* a, const zdnn_ztensor* b, const zdnn_ztensor* c,
              zdnn_ztensor* out, Range& range) {
  using Number = typename Accumulator<kModel>::Number;
  const auto [m, n, p] = job.sizes;
  const Rows left(*a);
  const Rows right(*b);
  const Rows addend(*c);
  const Rows result(*out);
  std::vector<Number> a_rows;
  std::vector<Number> b_block;
  std::array<double, kColumns> dots{};
  std::array<double, kColumns> biases{};
  for (std::uint64_t stack = 0; stack < job.stacks.count; ++stack) {
    const double most_of_a = unpack(left, job.stacks.of_a(stack), job.transpose_a, 0, m, n, a_rows);
    for (std::uint64_t first = 0; first < p; first += kColumns) {
      const std::size_t columns = std::min<std::uint64_t>(kColumns, p - first);
      const double most_of_b =
          unpack(right, job.stacks.of_b(stack), job.transpose_b, first, n, columns, b_block);
      addend.read(job.stacks.of_c(stack), 0, 0, std::span(biases).first(columns), first);
      const bool watch = !(most_of_a * most_of_b * n < kDlfTooLarge);
      for (std::uint32_t row = 0; row < m; ++row) {
        const auto a_row = std::span<const Number>(a_rows).subspan(std::size_t{row} * n, n);
        dot_products<kModel, Number>(a_row, b_block, columns, watch, dots);
        for (std::size_t j = 0; j < columns; ++j) {
          if (job.op == MATMUL_OP_ADDITION) {
            Accumulator<kModel> sum{static_cast<Number>(dots[j])};
            sum.add(static_cast<Number>(biases[j]));
            dots[j] = sum.sum;
          } else {
            dots[j] = compared(job.op, dots[j], biases[j]);
          }
        }
        result.write(stack, 0, row, std::span(dots).first(columns), range, first);
      }
    }
  }
}

zdnn_status matmul(const char* name, int format, Job job, const zdnn_ztensor* a,
                   const zdnn_ztensor* b, const zdnn_ztensor* c, zdnn_ztensor* out) {
  return perform(
      {name, job.stacks.function, format, {a, b, c}, {out}},
      [&]() -> zdnn_status {
        ZDNN_TWIN_TRY(
            expect_matrices(job.stacks, a, b, c, out, job.transpose_a, job.transpose_b, job.sizes));
        return expect_features({a, b, c, out});
      },
      [&]() -> zdnn_status {
        if (job.op > MATMUL_OP_LESSER) return refuse(ZDNN_FUNC_RC_F000, "no such operation");
        return ZDNN_OK;
      },
      [&](Range& range) {
        with_accumulator([&](auto accumulator) {
          multiply<decltype(accumulator)::kItsModel>(job, a, b, c, out, range);
        });
      });
}

}  // namespace
}  // namespace zdnn_twin

using namespace zdnn_twin;

extern "C" {

zdnn_status zdnn_matmul_op(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                           const zdnn_ztensor* input_c, zdnn_matmul_ops op_type,
                           zdnn_ztensor* output) {
  Stacks stacks = stacks_of(input_a, input_b);
  if (stacks.function != NNPA_MATMUL_OP)  // does not broadcast: the shapes will not do
    stacks = {NNPA_MATMUL_OP, stacks.count, false, false};
  return matmul("zdnn_matmul_op", 0, {stacks, {}, false, false, op_type}, input_a, input_b, input_c,
                output);
}

zdnn_status zdnn_matmul_bcast_op(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                                 const zdnn_ztensor* input_c, zdnn_matmul_bcast_ops op_type,
                                 zdnn_ztensor* output) {
  const Stacks stacks = stacks_of(input_a, input_b);
  const bool older =
      stacks.function == NNPA_MATMUL_OP ||
      (stacks.function == NNPA_MATMUL_OP_BCAST23 && op_type == MATMUL_BCAST_OP_ADDITION);
  return matmul("zdnn_matmul_bcast_op", older ? 0 : 1,
                {stacks, {}, false, false, static_cast<zdnn_matmul_ops>(op_type)}, input_a, input_b,
                input_c, output);
}

zdnn_status zdnn_matmul_transpose_op(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                                     const zdnn_ztensor* input_c, bool transpose_a,
                                     bool transpose_b, zdnn_matmul_ops op_type,
                                     zdnn_ztensor* output) {
  return matmul("zdnn_matmul_transpose_op", 1,
                {stacks_of(input_a, input_b), {}, transpose_a, transpose_b, op_type}, input_a,
                input_b, input_c, output);
}

}  // extern "C"
