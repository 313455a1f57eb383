#include "cuda/driver/copies.h"

#include "cuda/call.h"
#include "cuda/driver/kinds.h"
#include "cuda/driver/pools.h"

namespace cuda_twin {
namespace {

using Side = CopyWork::Side;

/// One side of a structure for copies.
struct Corner {
  CUmemorytype type;
  std::uint64_t host, device;
  std::uint64_t x, y, z;
  std::uint64_t pitch, height;
};

struct Box {
  std::uint64_t width = 0, height = 1, depth = 1;
};
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;  ///< of a copy: no host has more

/// The byte after the last one of a box at `base`. False if it exceeds 64 bits.
bool find_end(const Corner& corner, const Box& box, std::uint64_t base, std::uint64_t pitch,
              std::uint64_t plane, std::uint64_t& end) {
  std::uint64_t row = 0;
  std::uint64_t depth = 0;
  std::uint64_t rows = 0;
  return !__builtin_add_overflow(corner.z, box.depth, &depth) &&
         !__builtin_mul_overflow(depth, plane, &depth) &&
         !__builtin_add_overflow(corner.y, box.height, &rows) &&
         !__builtin_mul_overflow(rows, pitch, &rows) &&
         !__builtin_add_overflow(corner.x, box.width, &row) &&
         !__builtin_add_overflow(base, depth, &end) && !__builtin_add_overflow(end, rows, &end) &&
         !__builtin_add_overflow(end, row, &end);
}

bool fits_into_memory(const Box& box) {
  std::uint64_t bytes = 0;
  return !__builtin_mul_overflow(box.width, box.height, &bytes) &&
         !__builtin_mul_overflow(bytes, box.depth, &bytes) && bytes <= kMostBytes;
}

CUresult place(const Corner& corner, const Box& box, std::uint64_t& address, Side& side,
               std::uint64_t& pitch, std::uint64_t& plane) {
  const bool host = corner.type == CU_MEMORYTYPE_HOST;
  if (corner.type == CU_MEMORYTYPE_ARRAY) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the twin has no arrays");
  }
  if (!host && corner.type != CU_MEMORYTYPE_DEVICE && corner.type != CU_MEMORYTYPE_UNIFIED) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown type of memory");
  }
  if (corner.x > kMostBytes || box.width > kMostBytes || corner.y > kMostBytes ||
      box.height > kMostBytes) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the box is too large");
  }
  pitch = corner.pitch != 0 ? corner.pitch : corner.x + box.width;
  const std::uint64_t rows = corner.height != 0 ? corner.height : corner.y + box.height;
  if (pitch < corner.x + box.width || (box.depth > 1 && rows < corner.y + box.height)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the pitch or height is smaller than a row or plane");
  }
  if (pitch > (std::uint64_t{1} << 40) || rows > (std::uint64_t{1} << 40)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the pitch or height is too large");
  }
  const std::uint64_t base = host ? corner.host : corner.device;
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(pitch, rows, &plane) ||
      !find_end(corner, box, base, pitch, plane, end)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the box ends beyond the addresses of 64 bits");
  }
  side = host ? Side::kHost : corner.type == CU_MEMORYTYPE_UNIFIED ? Side::kAny : Side::kDevice;
  address = base + corner.z * plane + corner.y * pitch + corner.x;
  return CUDA_SUCCESS;
}

CUresult copy_between(const Corner& from, const Corner& to, const Box& box, CopyWork& work) {
  if (!fits_into_memory(box)) return refuse(CUDA_ERROR_INVALID_VALUE, "the box is too large");
  work.row_bytes = box.width;
  work.rows = box.height;
  work.planes = box.depth;
  CUDA_TWIN_TRY(place(from, box, work.from, work.from_side, work.from_pitch, work.from_plane));
  return place(to, box, work.to, work.to_side, work.to_pitch, work.to_plane);
}

std::uint64_t number_of(const void* host) {
  return reinterpret_cast<std::uint64_t>(host);
}

template <class Copy3D>
CUresult copy_of_3d(const Copy3D& copy, CopyWork& work) {
  if (copy.srcLOD != 0 || copy.dstLOD != 0) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the twin has no mipmaps");
  }
  const Corner from = {
      copy.srcMemoryType, number_of(copy.srcHost), copy.srcDevice, copy.srcXInBytes, copy.srcY,
      copy.srcZ,          copy.srcPitch,           copy.srcHeight};
  const Corner to = {
      copy.dstMemoryType, number_of(copy.dstHost), copy.dstDevice, copy.dstXInBytes, copy.dstY,
      copy.dstZ,          copy.dstPitch,           copy.dstHeight};
  return copy_between(from, to, {copy.WidthInBytes, copy.Height, copy.Depth}, work);
}

bool empty(const CopyWork& work) {
  return work.row_bytes == 0 || work.rows == 0 || work.planes == 0;
}

bool will_be_there(std::uint64_t address, std::uint64_t bytes) {
  const std::shared_ptr<PoolAllocation> memory = pool_allocation_at(address);
  return memory != nullptr && bytes <= memory->address + memory->bytes - address;
}

/// All bytes of the range, in one or several extents.
bool is_live(std::uint64_t address, std::uint64_t bytes) {
  const Space& space = *driver().space;
  while (bytes > 0) {
    const ExtentPtr extent = space.find(address);
    // Stream-ordered memory may be there in time.
    if (extent == nullptr) return will_be_there(address, bytes);
    const std::uint64_t part = std::min(bytes, extent->end() - address);
    address += part;
    bytes -= part;
  }
  return true;
}

struct SideOf {
  std::uint64_t address, pitch, plane;
  Side side;
};

/// The rows at the ends of each plane; all others are between them.
CUresult check_side(const SideOf& at, const CopyWork& work, const char* name) {
  if (at.side == Side::kHost && at.address == 0) {
    return refuse(CUDA_ERROR_INVALID_VALUE, std::string(name) + " is null");
  }
  const ExtentPtr first = driver().space->find(at.address);
  if (at.side == Side::kHost && first != nullptr && !is_of_host(first->kind)) {
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  std::string(name) + " is device memory, not the host's");
  }
  if (at.side == Side::kHost || (at.side == Side::kAny && first == nullptr)) return CUDA_SUCCESS;
  const std::uint64_t last_row =
      at.address + (work.planes - 1) * at.plane + (work.rows - 1) * at.pitch;
  if (is_live(at.address, work.row_bytes) && is_live(last_row, work.row_bytes)) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_VALUE,
                std::string(name) + ": " + driver().space->describe(at.address, work.row_bytes));
}

bool is_pageable(std::uint64_t address, Side side) {
  return side != Side::kDevice && driver().space->find(address) == nullptr;
}

}  // namespace

CopyWork flat_copy(std::uint64_t to, Side to_side, std::uint64_t from, Side from_side,
                   std::uint64_t bytes) {
  CopyWork work;
  work.to = to;
  work.from = from;
  work.row_bytes = bytes;
  work.to_pitch = work.from_pitch = work.to_plane = work.from_plane = bytes;
  work.to_side = to_side;
  work.from_side = from_side;
  return work;
}

CUresult copy_of(const CUDA_MEMCPY2D* copy, CopyWork& work) {
  if (copy == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the copy is null");
  const Corner from = {copy->srcMemoryType, number_of(copy->srcHost),
                       copy->srcDevice,     copy->srcXInBytes,
                       copy->srcY,          0,
                       copy->srcPitch,      0};
  const Corner to = {copy->dstMemoryType, number_of(copy->dstHost),
                     copy->dstDevice,     copy->dstXInBytes,
                     copy->dstY,          0,
                     copy->dstPitch,      0};
  return copy_between(from, to, {copy->WidthInBytes, copy->Height, 1}, work);
}

CUresult copy_of(const CUDA_MEMCPY3D* copy, CopyWork& work) {
  if (copy == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the copy is null");
  if (copy->reserved0 != nullptr || copy->reserved1 != nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "reserved fields must be null");
  }
  return copy_of_3d(*copy, work);
}

CUresult copy_of(const CUDA_MEMCPY3D_PEER* copy, CopyWork& work) {
  if (copy == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the copy is null");
  return copy_of_3d(*copy, work);
}

CUresult check_copy(const CopyWork& work) {
  if (empty(work)) return CUDA_SUCCESS;
  if (work.staged == nullptr) {
    CUDA_TWIN_TRY(check_side({work.from, work.from_pitch, work.from_plane, work.from_side}, work,
                             "the source"));
  }
  return check_side({work.to, work.to_pitch, work.to_plane, work.to_side}, work, "the destination");
}

bool from_pageable(const CopyWork& work) {
  return is_pageable(work.from, work.from_side);
}
bool to_pageable(const CopyWork& work) {
  return is_pageable(work.to, work.to_side);
}

}  // namespace cuda_twin
