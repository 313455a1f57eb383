#include "backends/zdnn/launch.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend_support/int8_weights.h"
#include "shunt/message.h"

namespace shunt::zdnn {

namespace {

/// The library's function after a product.
constexpr std::uint32_t kAddition = 0;

}  // namespace

void Launch::start() {
  outcome_ = Outcome::kOk;
  saturated_ = false;
  error_.reset();
}

Stick& Launch::temporary(std::size_t index, const Dims& dims) {
  Stick& stick = temporaries[index];
  const Room& room = rooms[index];
  const bool fits =
      dims.dim4 <= room.dims.dim4 && dims.dim2 <= room.dims.dim2 && dims.dim1 <= room.dims.dim1;
  stick.set(zdnn(), room.memory, fits ? dims : room.dims);
  if (!fits) {
    (void)failed(fail(
        ErrorCode::kInternal, "temporary {} of {} x {} x {} is too small for {} x {} x {}", index,
        room.dims.dim4, room.dims.dim2, room.dims.dim1, dims.dim4, dims.dim2, dims.dim1));
  }
  return stick;
}

bool Launch::took(const char* (*function)(), std::uint32_t status) {
  if (outcome_ == Outcome::kFailed) return false;
  if (status == kOk) return true;
  outcome_ = outcome_of(status);
  if (outcome_ == Outcome::kFailed) error_ = error_of(zdnn(), function(), status);
  return false;
}

bool Launch::out_of_range() {
  outcome_ = Outcome::kOutOfRange;
  return false;
}

bool Launch::failed(Error error) {
  outcome_ = Outcome::kFailed;
  error_ = std::move(error);
  return false;
}

bool Launch::to_machine(float* from, Stick& to) {
  const Dims& dims = to.dims();
  const auto count = static_cast<std::size_t>(dims.dim4 * dims.dim2 * dims.dim1);
  const NumberRange range = range_of({from, count}, kLargest, machine_.saturates());
  if (range == NumberRange::kBeyond) return out_of_range();
  saturated_ |= range == NumberRange::kSaturated;
  to.get()->is_transformed = false;
  return call<&Symbols::transform_ztensor>(to, from);
}

bool Launch::to_machine_transposed(const HostTensor& from, std::int64_t matrix,
                                   const MatrixPart& part, Stick& to) {
  const Entered entered =
      stickify_transposed(zdnn(), from, matrix, part, staging, to.buffer(), machine_.saturates());
  saturated_ |= entered.saturated;
  to.get()->is_transformed = true;
  return took(name_of<&Symbols::transform_ztensor>, entered.status);
}

bool Launch::to_host(const Stick& from, float* to) {
  return call<&Symbols::transform_origtensor>(from, to);
}

const Ztensor* Launch::constant(const Dims& dims, float value) {
  std::uint32_t status = kOk;
  const Ztensor* const found = constants_.find(dims, value, status);
  if (found == nullptr) (void)took(name_of<&Symbols::transform_ztensor>, status);
  return found;
}

bool Launch::product(const Stick& a, const Ztensor* b, float c, Stick& to) {
  const Ztensor* const row = constant({1, 1, to.dims().dim1}, c);
  return row != nullptr && product(a, b, row, to);
}

bool Launch::product(const Stick& a, const Ztensor* b, const Ztensor* row, Stick& to) {
  return a.dims().dim4 == 1 ? call<&Symbols::matmul_op>(a, b, row, kAddition, to)
                            : call<&Symbols::matmul_bcast_op>(a, b, row, kAddition, to);
}

bool Launch::product_transposed(const Stick& a, const Ztensor* b, const Ztensor* row, Stick& to) {
  return call<&Symbols::matmul_transpose_op>(a, b, row, false, true, kAddition, to);
}

bool Launch::quantize(Stick& a) {
  float low = 0;
  float high = 0;
  if (!call<&Symbols::getrange_ztensor>(a, &low, &high)) return false;
  const float largest = std::max(std::fabs(low), std::fabs(high));
  // A value that the machine has no number for comes back as a non-finite one.
  if (!std::isfinite(low) || !std::isfinite(high)) return out_of_range();
  // The machine gets it as DLFLOAT16: cut to 9 bits it is the same there.
  constexpr std::uint32_t kNineBits = 0xFFFFC000;
  const float rec_scale =
      largest == 0
          ? 1
          : std::bit_cast<float>(std::bit_cast<std::uint32_t>(kLargestInt8 / largest) & kNineBits);
  if (!(rec_scale >= kSmallest && rec_scale <= kLargest)) return out_of_range();
  a.set_rec_scale(rec_scale);
  return true;
}

/// With offsets of 0 nothing has to be taken off the sums. With a scale of 1 the result is numbers
/// of DLFLOAT16, neither rounded nor clipped, and the row is added as it is.
bool Launch::quantized_product(const Stick& a, const Stick& weights, const Ztensor* row,
                               Stick& to) {
  constexpr std::int8_t kLow = -kLargestInt8;
  constexpr bool kDisableClipping = true;
  constexpr bool kDequantize = false;
  constexpr bool kPreComputed = true;
  const double factor = a.scale() * weights.scale();
  if (!(factor >= double{kSmallest} && factor <= double{kLargest})) return out_of_range();
  to.set_scale(1);
  return call<&Symbols::quantized_matmul_op>(a, weights, row, kAddition, kLow, kLargestInt8,
                                             kDisableClipping, kDequantize, kPreComputed, nullptr,
                                             to);
}

bool Launch::affine(const Stick& a, float scale, float bias, Stick& to) {
  const Dims row{1, 1, a.dims().dim1};
  const Ztensor* const factors = constant(row, scale);
  const Ztensor* const added = factors == nullptr ? nullptr : constant(row, bias);
  return added != nullptr && call<&Symbols::batchnorm>(a, factors, added, to);
}

bool Launch::mul_row(const Stick& a, const Stick& row, Stick& to) {
  const Ztensor* const zeros = constant({1, 1, a.dims().dim1}, 0);
  return zeros != nullptr && call<&Symbols::batchnorm>(a, row, zeros, to);
}

bool Launch::add_row(const Stick& a, const Stick& row, Stick& to) {
  const Ztensor* const ones = constant({1, 1, a.dims().dim1}, 1);
  return ones != nullptr && call<&Symbols::batchnorm>(a, ones, row, to);
}

}  // namespace shunt::zdnn
