// Matrix multiplication of 8-bit numbers: zdnn_quantized_matmul_op.
//
// With scales S and offsets Z of a, b, c and the result y (q = x/S + Z), N the inner length and M =
// Sa Sb / Sy:
//
//   x of y, quantised = M sum_k (qa - Za)(qb - Zb) + Sc/Sy (qc - Zc) + Zy
//                     = M sum_k qa qb  +  [ Zy + Sc/Sy (qc - Zc) + M N Za Zb ]  -  M (Zb sum_k qa +
//                     Za sum_k qb)
//
// The machine computes the first term and adds the second, which the library hands it as DLFLOAT16;
// the third one the library subtracts afterwards, or, if Zb = 0, puts into the second.
#include <algorithm>
#include <cmath>
#include <vector>

#include "op.h"
#include "quantize.h"
#include "stacks.h"

namespace zdnn_twin {
namespace {

struct Scaled {
  explicit Scaled(const zdnn_ztensor* tensor)
      : scale(1 / static_cast<double>(tensor->rec_scale)),
        offset(static_cast<double>(tensor->offset)) {}
  bool usable() const { return std::isfinite(scale) && scale != 0 && std::isfinite(offset); }
  double scale, offset;
};

struct Call {
  const zdnn_ztensor *a, *b, *c;
  zdnn_matmul_ops op;
  std::int8_t clip_min, clip_max;
  bool disable_clipping, dequantize, pre_computed;
  zdnn_ztensor* out;
  Stacks stacks;
  Sizes sizes;

  bool on_the_fly() const { return desc_of(a).type == ZDNN_DLFLOAT16; }
  bool adds() const { return op == MATMUL_OP_ADDITION; }
};

class Bytes {  // a tensor of 8-bit cells
 public:
  explicit Bytes(const zdnn_ztensor* tensor) : sticks_(desc_of(tensor)), buffer_(tensor->buffer) {}
  std::int8_t at(std::uint64_t e4, std::uint64_t e2, std::uint64_t e1) const {
    return load<std::int8_t>(buffer_, sticks_.row(e4, 0, e2) + sticks_.within_row(e1));
  }

 private:
  Sticks sticks_;
  const void* buffer_;
};

// A row of a as bytes; quantised on the way if it isn't yet.
void read_row(const Call& call, std::uint64_t stack, std::uint64_t row, std::vector<int>& out,
              Range& range) {
  if (!call.on_the_fly()) {
    const Bytes bytes(call.a);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = bytes.at(stack, row, k);
    return;
  }
  const auto quantizer = Quantizer::of_machine(*call.a, call.clip_min, call.clip_max);
  std::vector<double> numbers(out.size());
  Rows(*call.a).read(stack, 0, row, numbers);
  for (std::size_t k = 0; k < out.size(); ++k) {
    range.violated = range.violated || std::isnan(numbers[k]);
    out[k] = quantizer(numbers[k]);
  }
}

struct Column {  // of b
  std::vector<int> values;
  std::int64_t sum = 0;
};

std::vector<Column> read_columns(const Call& call, std::uint64_t stack) {
  const Bytes bytes(call.b);
  std::vector<Column> columns(call.sizes.p);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    columns[j].values.resize(call.sizes.n);
    for (std::size_t k = 0; k < call.sizes.n; ++k) {
      columns[j].values[k] = bytes.at(stack, k, j);
      columns[j].sum += columns[j].values[k];
    }
  }
  return columns;
}

// The number that the machine adds to, or compares with, the scaled dot product of column j.
double addend(const Call& call, std::uint64_t stack, std::size_t j, const Column& column) {
  if (call.pre_computed) return Rows(*call.c).at(stack, 0, 0, j);
  const Scaled a(call.a);
  const Scaled b(call.b);
  const Scaled c(call.c);
  const double bias = Bytes(call.c).at(stack, 0, j) - c.offset;
  const auto sum = static_cast<double>(column.sum);
  if (!call.adds()) return as_dlf(c.scale / (a.scale * b.scale) * bias + a.offset * sum);
  const Scaled y(call.out);
  const double m = a.scale * b.scale / y.scale;
  const double cross = b.offset != 0 ? call.sizes.n * a.offset * b.offset : -a.offset * sum;
  return as_dlf(y.offset + c.scale / y.scale * bias + m * cross);
}

// The library's result for the machine's result.
double finished(const Call& call, double value, std::int64_t row_sum, const Column& column) {
  const Scaled a(call.a);
  const Scaled b(call.b);
  const Scaled y(call.out);
  if (b.offset != 0) {
    const double m = a.scale * b.scale / y.scale;
    value -=
        m * (b.offset * static_cast<double>(row_sum) + a.offset * static_cast<double>(column.sum));
  }
  if (!call.disable_clipping && !std::isnan(value)) {
    // Not by fmin and fmax, of which each machine has its own opinion which zero is the larger.
    value = std::min<double>(std::max<double>(twin::round_half_even(value), call.clip_min),
                             call.clip_max);
  }
  return call.dequantize ? (value - y.offset) * y.scale : value;
}

zdnn_matmul_ops mirrored(zdnn_matmul_ops op) {
  constexpr zdnn_matmul_ops kOther[] = {
      MATMUL_OP_ADDITION,  MATMUL_OP_LESSER,        MATMUL_OP_LESSER_EQUAL, MATMUL_OP_EQUAL,
      MATMUL_OP_NOT_EQUAL, MATMUL_OP_GREATER_EQUAL, MATMUL_OP_GREATER};
  return kOther[op];
}

void multiply(const Call& call, Range& range) {
  const Rows result(*call.out);
  const Scaled a(call.a);
  const Scaled b(call.b);
  const double m = call.adds() ? a.scale * b.scale / Scaled(call.out).scale : 1;
  // Dividing an inequality by a negative number turns it round.
  const zdnn_matmul_ops op = a.scale * b.scale < 0 ? mirrored(call.op) : call.op;
  std::vector<int> row(call.sizes.n);
  std::vector<double> addends(call.sizes.p);
  for (std::uint64_t stack = 0; stack < call.stacks.count; ++stack) {
    const std::vector<Column> columns = read_columns(call, call.stacks.of_b(stack));
    for (std::size_t j = 0; j < addends.size(); ++j)
      addends[j] = addend(call, call.stacks.of_c(stack), j, columns[j]);
    for (std::uint32_t i = 0; i < call.sizes.m; ++i) {
      read_row(call, call.stacks.of_a(stack), i, row, range);
      std::int64_t row_sum = 0;
      for (const int value : row) row_sum += value;
      for (std::size_t j = 0; j < columns.size(); ++j) {
        std::int64_t dot = 0;
        for (std::size_t k = 0; k < row.size(); ++k)
          dot += std::int64_t{row[k]} * columns[j].values[k];
        const auto products = static_cast<double>(dot);
        const double value =
            call.adds() ? finished(call, as_dlf(m * products + addends[j]), row_sum, columns[j])
                        : compared(op, products, addends[j]);
        result.put(stack, 0, i, j, value, range);
      }
    }
  }
}

zdnn_status expect_type(const zdnn_ztensor* tensor, zdnn_data_types type) {
  return expect(desc_of(tensor).type == type, ZDNN_INVALID_TYPE, "a tensor's type is wrong");
}

zdnn_status check_on_the_fly(const Call& call) {
  const auto quantizer = Quantizer::of_machine(*call.a, call.clip_min, call.clip_max);
  if (!std::isfinite(quantizer.rec_scale) || quantizer.rec_scale == 0)
    return refuse(ZDNN_INVALID_SCALE, "the scale to quantise with is 0 or no number");
  if (!std::isfinite(quantizer.offset))
    return refuse(ZDNN_INVALID_OFFSET, "the offset to quantise with is no number");
  if (call.clip_min >= call.clip_max)
    return refuse(ZDNN_INVALID_CLIPPING_VALUE, "the lower one is not below the upper one");
  return ZDNN_OK;
}

zdnn_status check(Call& call) {
  ZDNN_TWIN_TRY(
      expect_matrices(call.stacks, call.a, call.b, call.c, call.out, false, false, call.sizes));
  ZDNN_TWIN_TRY(expect_type(call.a, call.on_the_fly() ? ZDNN_DLFLOAT16 : ZDNN_BINARY_INT8));
  ZDNN_TWIN_TRY(expect_type(call.b, ZDNN_BINARY_INT8));
  ZDNN_TWIN_TRY(expect_type(call.c, call.pre_computed ? ZDNN_DLFLOAT16 : ZDNN_BINARY_INT8));
  ZDNN_TWIN_TRY(expect_type(call.out, ZDNN_DLFLOAT16));
  if (call.pre_computed && call.b->offset != 0)
    return refuse(ZDNN_INVALID_OFFSET, "with a pre-computed addend b's offset must be 0");
  if (call.on_the_fly()) ZDNN_TWIN_TRY(check_on_the_fly(call));
  if (!call.adds() && call.b->offset != 0)  // the comparison has no term for it
    return object(ZDNN_INVALID_OFFSET,
                  "a comparison with an offset of b compares the wrong numbers");
  return ZDNN_OK;
}

zdnn_status respond(const Call& call) {
  if (call.op > MATMUL_OP_LESSER) return refuse(ZDNN_FUNC_RC_F000, "no such operation");
  for (const zdnn_ztensor* tensor :
       {call.a, call.b, call.c, static_cast<const zdnn_ztensor*>(call.out)}) {
    const auto format = tensor == call.b ? ZDNN_FORMAT_4DWEIGHTS : ZDNN_FORMAT_4DFEATURE;
    if (desc_of(tensor).format != format)
      return refuse(ZDNN_FUNC_RC_F001, "a tensor's format is wrong");
  }
  const bool usable = Scaled(call.a).usable() && Scaled(call.b).usable() &&
                      (call.pre_computed || Scaled(call.c).usable()) &&
                      (!call.adds() || Scaled(call.out).usable());
  return usable ? ZDNN_OK : refuse(ZDNN_FUNC_RC_F002, "a scale is 0, or no number");
}

std::uint64_t work_area_bytes(const zdnn_ztensor* c) {
  if (c == nullptr || c->transformed_desc == nullptr) return 0;
  zdnn_tensor_desc desc = desc_of(c);
  desc.type = ZDNN_DLFLOAT16;
  return tensor_bytes(desc);
}

}  // namespace
}  // namespace zdnn_twin

using namespace zdnn_twin;

zdnn_status zdnn_quantized_matmul_op(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                                     const zdnn_ztensor* input_c, zdnn_matmul_ops op_type,
                                     const int8_t clip_min, const int8_t clip_max,
                                     const bool disable_clipping, const bool dequantize,
                                     const bool pre_computed, void* work_area,
                                     zdnn_ztensor* output) {
  Call call{.a = input_a,
            .b = input_b,
            .c = input_c,
            .op = op_type,
            .clip_min = clip_min,
            .clip_max = clip_max,
            .disable_clipping = disable_clipping,
            .dequantize = dequantize,
            .pre_computed = pre_computed,
            .out = output,
            .stacks = stacks_of(input_a, input_b),
            .sizes = {}};
  return perform(
      {.name = "zdnn_quantized_matmul_op",
       .function = call.stacks.function,
       .format = 1,
       .inputs = {input_a, input_b, input_c},
       .outputs = {output},
       .takes_scratch = !pre_computed,
       .scratch = work_area,
       .scratch_bytes = work_area_bytes(input_c)},
      [&] { return check(call); }, [&] { return respond(call); },
      [&](Range& range) { multiply(call, range); });
}
