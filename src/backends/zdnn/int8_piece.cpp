#include "backends/zdnn/int8_piece.h"

namespace shunt::zdnn {

namespace {

/// The vendor's library may read as much beyond the end.
constexpr std::size_t kReadBeyond = 8;

}  // namespace

std::size_t quantize_bytes(const Dims& dims) {
  return static_cast<std::size_t>(dims.dim2) * sizeof(float) +
         static_cast<std::size_t>(dims.dim2 * dims.dim1) + kReadBeyond;
}

std::uint32_t quantize_transposed(const Symbols& zdnn, const HostTensor& from,
                                  const MatrixPart& part, std::byte* work, Stick& to,
                                  LossyCost& cost) {
  auto* const row = reinterpret_cast<float*>(work);
  auto* const numbers = reinterpret_cast<std::int8_t*>(row + part.elements);
  const std::optional<float> scale = quantize_int8(from, part, row, numbers);
  if (!scale) return kConvertFailure;
  to.set_scale(*scale);
  to.get()->is_transformed = false;
  const std::uint32_t status =
      zdnn.transform_quantized_ztensor(to.get(), false, -128, kLargestInt8, numbers);
  if (status != kOk) return status;
  const auto value = [&](std::int64_t e, std::int64_t r) { return int8_value(to, e, r); };
  add_lossy_cost(from, part, row, value, cost);
  return kOk;
}

}  // namespace shunt::zdnn
