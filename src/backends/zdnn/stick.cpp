#include "backends/zdnn/stick.h"

#include "base/ceil_div.h"
#include "shunt/message.h"

namespace shunt::zdnn {

Dims dims_of(const Sizes& sizes) {
  return {sizes[2] * sizes[3], sizes[1], sizes[0]};
}

std::uint64_t stick_bytes(const Dims& dims) {
  if (dims.empty()) return 0;
  return static_cast<std::uint64_t>(dims.dim4) *
         static_cast<std::uint64_t>(ceil_div(dims.dim2, kPageSticks)) *
         static_cast<std::uint64_t>(ceil_div(dims.dim1, kStickElements)) * kPage;
}

std::uint64_t int8_bytes(const Dims& dims) {
  return stick_bytes({dims.dim4, ceil_div(dims.dim2, 2), dims.dim1});
}

std::string too_large(const Machine& machine, const Dims& dims) {
  const auto check = [&](const char* what, std::int64_t size, int dim) {
    return size <= machine.max_dim(dim) ? std::string()
                                        : fmt::format("{} {}, and the accelerator takes at most {}",
                                                      size, what, machine.max_dim(dim));
  };
  std::string why = check("elements a row", dims.dim1, 1);
  if (why.empty()) why = check("rows", dims.dim2, 2);
  if (why.empty()) why = check("matrices", dims.dim4, 4);
  if (!why.empty() || stick_bytes(dims) <= machine.max_bytes()) return why;
  return fmt::format("{} bytes in the accelerator's layout, and it takes at most {}",
                     stick_bytes(dims), machine.max_bytes());
}

void Stick::set(const Symbols& zdnn, std::byte* buffer, const Dims& dims, bool filled) {
  dims_ = dims;
  host_ = {.layout = kLayout3ds,
           .format = 0,
           .type = kHostFp32,
           .dim4 = 1,
           .dim3 = static_cast<std::uint32_t>(dims.dim4),
           .dim2 = static_cast<std::uint32_t>(dims.dim2),
           .dim1 = static_cast<std::uint32_t>(dims.dim1)};
  machine_ = {};
  // It can't fail for this layout and type, and looks at nothing else.
  (void)zdnn.generate_transformed_desc(&host_, &machine_);
  ztensor_ = {};
  ztensor_.pre_transformed = &host_;
  ztensor_.transformed = &machine_;
  ztensor_.buffer = buffer;
  ztensor_.buffer_size = stick_bytes(dims);
  ztensor_.is_transformed = filled;
}

void Stick::set_int8(const Symbols& zdnn, std::byte* buffer, const Dims& dims) {
  set(zdnn, buffer, dims);
  host_.type = kHostInt8;
  (void)zdnn.generate_quantized_transformed_desc(&host_, kQuantizedWeightsInt8, &machine_);
  ztensor_.buffer_size = int8_bytes(dims);
}

void Stick::set_host_type(DType dtype) {
  host_.type = dtype == DType::kF16 ? kHostFp16 : dtype == DType::kBF16 ? kHostBfloat : kHostFp32;
}

void Stick::slice(const Symbols& zdnn, std::int64_t index, Stick& to) const {
  const Dims one{1, dims_.dim2, dims_.dim1};
  to.set(zdnn, buffer() + static_cast<std::uint64_t>(index) * stick_bytes(one), one,
         ztensor_.is_transformed);
}

void Stick::columns(const Symbols& zdnn, std::int64_t begin, std::int64_t count, Stick& to) const {
  if (host_.type == kHostInt8) {
    to.set_int8(zdnn, buffer() + int8_bytes({1, dims_.dim2, begin}), {1, dims_.dim2, count});
    to.ztensor_.rec_scale = ztensor_.rec_scale;
    to.ztensor_.is_transformed = ztensor_.is_transformed;
    return;
  }
  to.set(zdnn, buffer() + stick_bytes({1, dims_.dim2, begin}), {1, dims_.dim2, count},
         ztensor_.is_transformed);
}

}  // namespace shunt::zdnn
