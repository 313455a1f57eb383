#include "cuda/driver/access.h"

#include "cuda/call.h"

namespace cuda_twin {

CUresult access_device(const CUmemAccessDesc& entry, const Device& owner, Device*& device) {
  if (entry.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return refuse(CUDA_ERROR_INVALID_VALUE, "access can be given to devices only");
  if (entry.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
      entry.flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
      entry.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags of access");
  CUDA_TWIN_TRY(device_of(entry.location.id, device));
  if (device != &owner && !are_peers(*device, owner))
    return refuse(CUDA_ERROR_INVALID_DEVICE, "the device is no peer of the memory's");
  return CUDA_SUCCESS;
}

void set_access_bits(const CUmemAccessDesc& entry, std::uint32_t& readers, std::uint32_t& writers) {
  const std::uint32_t bit = std::uint32_t{1} << entry.location.id;
  readers = entry.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? readers & ~bit : readers | bit;
  writers = entry.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? writers | bit : writers & ~bit;
}

CUmemAccess_flags access_flags(std::uint32_t readers, std::uint32_t writers, const Device& device) {
  const std::uint32_t bit = std::uint32_t{1} << device.ordinal;
  if ((writers & bit) != 0) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return (readers & bit) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

}  // namespace cuda_twin
