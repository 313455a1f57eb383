// What an address is.
#include <cstring>

#include "cuda/call.h"
#include "cuda/driver/kinds.h"
#include "cuda/driver/pools.h"

namespace cuda_twin {
namespace {

template <class T>
void put(void* value, T what) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): handles are pointers
  std::memcpy(value, static_cast<const void*>(&what), sizeof(T));
}

std::uint64_t context_handle_of(const Extent& extent) {
  const std::shared_ptr<Context> context = context_with(owner_of(extent.begin));
  return context == nullptr ? 0 : reinterpret_cast<std::uint64_t>(context->handle);
}

struct PointerRow {
  CUpointer_attribute attribute;
  void (*put)(void* value, const Extent& extent, std::uint64_t address);
  bool (*has)(const Extent& extent) = nullptr;  ///< whether such memory has it; null: all has
};
constexpr PointerRow kPointerRows[] = {
    {CU_POINTER_ATTRIBUTE_CONTEXT,
     [](void* v, const Extent& e, std::uint64_t) { put(v, context_handle_of(e)); }},
    {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
     [](void* v, const Extent& e, std::uint64_t) {
       put(v, is_of_device(e.kind) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
     }},
    {CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
     [](void* v, const Extent&, std::uint64_t address) { put(v, address); }},
    {CU_POINTER_ATTRIBUTE_HOST_POINTER,
     [](void* v, const Extent& e, std::uint64_t address) {
       put(v, is_of_host(e.kind) ? address : std::uint64_t{0});
     },
     [](const Extent& e) { return is_of_host(e.kind); }},
    {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, [](void* v, const Extent&, std::uint64_t) { put(v, 0); }},
    {CU_POINTER_ATTRIBUTE_BUFFER_ID,
     [](void* v, const Extent& e, std::uint64_t) {
       put(v, static_cast<unsigned long long>(e.number));
     }},
    {CU_POINTER_ATTRIBUTE_IS_MANAGED,
     [](void* v, const Extent& e, std::uint64_t) {
       put(v, static_cast<unsigned>(e.kind == MemoryKind::kManaged));
     }},
    {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
     [](void* v, const Extent& e, std::uint64_t) { put(v, e.device); }},
    {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
     [](void* v, const Extent&, std::uint64_t) { put(v, 0); }},
    {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
     [](void* v, const Extent& e, std::uint64_t) { put(v, e.begin); }},
    {CU_POINTER_ATTRIBUTE_RANGE_SIZE,
     [](void* v, const Extent& e, std::uint64_t) { put(v, static_cast<size_t>(e.bytes)); }},
    {CU_POINTER_ATTRIBUTE_MAPPED, [](void* v, const Extent&, std::uint64_t) { put(v, 1U); }},
    {CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
     [](void* v, const Extent&, std::uint64_t) { put(v, std::uint64_t{0}); }},
    {CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
     [](void* v, const Extent&, std::uint64_t) { put(v, 0); }},
    {CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
     [](void* v, const Extent& e, std::uint64_t) {
       put(v, e.read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
     }},
    {CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
     [](void* v, const Extent&, std::uint64_t address) {
       const std::shared_ptr<PoolAllocation> memory = pool_allocation_at(address);
       put(v, memory == nullptr ? nullptr : memory->pool->handle);
     }},
};

const PointerRow* row_of(CUpointer_attribute attribute) {
  for (const PointerRow& row : kPointerRows) {
    if (row.attribute == attribute) return &row;
  }
  return nullptr;
}

/// The answer of cuPointerGetAttributes for an address that is of nothing.
void put_nothing(void* value, CUpointer_attribute attribute) {
  const bool is_int = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                      attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
                      attribute == CU_POINTER_ATTRIBUTE_MAPPED ||
                      attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
                      attribute == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE ||
                      attribute == CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE ||
                      attribute == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS;
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
    put(value, CU_DEVICE_INVALID);
  } else if (is_int) {
    put(value, 0);
  } else {
    put(value, std::uint64_t{0});
  }
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    const PointerRow* const row = row_of(attribute);
    if (value == nullptr || row == nullptr) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "value is null, or there is no such attribute");
    }
    const ExtentPtr extent = driver().space->find(address);
    if (extent == nullptr) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "the driver does not know the address");
    }
    if (row->has != nullptr && !row->has(*extent)) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "memory of this kind does not have the attribute");
    }
    row->put(value, *extent, address);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr address) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    if (count == 0 || attributes == nullptr || values == nullptr) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "no attributes");
    }
    for (unsigned i = 0; i < count; ++i) {
      if (row_of(attributes[i]) == nullptr || values[i] == nullptr) {
        return refuse(CUDA_ERROR_INVALID_VALUE, "value is null, or there is no such attribute");
      }
    }
    const ExtentPtr extent = driver().space->find(address);
    for (unsigned i = 0; i < count; ++i) {
      if (extent == nullptr) {
        put_nothing(values[i], attributes[i]);
      } else {
        row_of(attributes[i])->put(values[i], *extent, address);
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
