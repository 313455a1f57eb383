// Tensor maps are checked and written in a layout of the twin's own. No instruction that the twin
// has reads them.
#include <array>
#include <cstring>

#include "cuda/call.h"

namespace cuda_twin {
namespace {

struct Tiled {
  CUtensorMapDataType type;
  cuuint32_t rank;
  std::uint64_t address;
  const cuuint64_t* dims;
  const cuuint64_t* strides;  ///< of dimensions 1 and up, in bytes
  const cuuint32_t* box;
  const cuuint32_t* steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

constexpr std::array<unsigned, 13> kElementBytes = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

bool is_float(CUtensorMapDataType type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

CUresult invalid(const char* reason) {
  return refuse(CUDA_ERROR_INVALID_VALUE, reason);
}

CUresult check_kinds(const Tiled& map) {
  if (static_cast<std::size_t>(map.type) >= kElementBytes.size()) return invalid("data type");
  if (map.rank < 1 || map.rank > 5) return invalid("the rank is 1 to 5");
  if (map.interleave < 0 || map.interleave > CU_TENSOR_MAP_INTERLEAVE_32B) {
    return invalid("interleave");
  }
  if (map.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && map.rank < 3) {
    return invalid("interleaved tensors have rank 3 or more");
  }
  if (map.swizzle < 0 || map.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
    return invalid("swizzle");
  if (map.promotion < 0 || map.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
    return invalid("promotion");
  }
  const bool wants_nan = map.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  if (!wants_nan && map.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) return invalid("fill");
  return wants_nan && !is_float(map.type) ? invalid("only floats are filled with NaN")
                                          : CUDA_SUCCESS;
}

CUresult check_dims(const Tiled& map, std::uint64_t alignment) {
  for (cuuint32_t i = 0; i < map.rank; ++i) {
    if (map.dims[i] == 0 || map.dims[i] > (std::uint64_t{1} << 32)) return invalid("a dimension");
    if (map.box[i] == 0 || map.box[i] > 256) return invalid("a box is 1 to 256 wide");
    if (map.steps[i] == 0 || map.steps[i] > 8) return invalid("an element stride is 1 to 8");
  }
  for (cuuint32_t i = 0; i + 1 < map.rank; ++i) {
    if (map.strides[i] % alignment != 0 || map.strides[i] >= (std::uint64_t{1} << 40)) {
      return invalid("a stride is a multiple of 16 bytes below 2^40");
    }
  }
  return CUDA_SUCCESS;
}

CUresult check_box(const Tiled& map) {
  constexpr std::array<unsigned, 7> kSwizzleBytes = {0, 32, 64, 128, 128, 128, 128};
  if (map.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return CUDA_SUCCESS;
  const unsigned bytes = map.box[0] * kElementBytes[static_cast<std::size_t>(map.type)];
  if (bytes % 16 != 0) return invalid("a row of the box is a multiple of 16 bytes");
  const unsigned most = kSwizzleBytes[static_cast<std::size_t>(map.swizzle)];
  return most != 0 && bytes > most ? invalid("a row of the box exceeds the swizzle") : CUDA_SUCCESS;
}

CUresult check(const Tiled& map) {
  CUDA_TWIN_TRY(check_kinds(map));
  const std::uint64_t alignment = map.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  if (map.address == 0 || map.address % alignment != 0) return invalid("the address's alignment");
  CUDA_TWIN_TRY(check_dims(map, alignment));
  return check_box(map);
}

void write(const Tiled& map, CUtensorMap& out) {
  std::memset(&out, 0, sizeof out);
  out.opaque[0] = map.address;
  out.opaque[1] =
      static_cast<cuuint64_t>(map.type) | cuuint64_t{map.rank} << 8 |
      static_cast<cuuint64_t>(map.interleave) << 16 | static_cast<cuuint64_t>(map.swizzle) << 24 |
      static_cast<cuuint64_t>(map.promotion) << 32 | static_cast<cuuint64_t>(map.fill) << 40;
  for (cuuint32_t i = 0; i < map.rank; ++i) {
    out.opaque[2 + i] =
        (map.dims[i] - 1) | cuuint64_t{map.box[i] - 1} << 32 | cuuint64_t{map.steps[i]} << 48;
    if (i > 0) out.opaque[7 + i] = map.strides[i - 1];
  }
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" CUresult cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (map == nullptr || reinterpret_cast<std::uint64_t>(map) % 64 != 0) {
      return invalid("the map is null, or not aligned to 64 bytes");
    }
    if (dims == nullptr || box == nullptr || elementStrides == nullptr ||
        (rank > 1 && strides == nullptr)) {
      return invalid("an array is null");
    }
    if (context.device->sm() < 90) {
      return refuse(CUDA_ERROR_NOT_SUPPORTED, "the device has no tensor maps");
    }
    const Tiled tiled{type,           rank,       reinterpret_cast<std::uint64_t>(address),
                      dims,           strides,    box,
                      elementStrides, interleave, swizzle,
                      promotion,      fill};
    CUDA_TWIN_TRY(check(tiled));
    write(tiled, *map);
    return CUDA_SUCCESS;
  });
}
