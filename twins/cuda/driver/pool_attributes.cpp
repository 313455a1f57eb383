// Attributes of pools.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "cuda/call.h"
#include "cuda/driver/pool_accounts.h"

namespace cuda_twin {
namespace {

/// An attribute is a number of 64 bits or a flag, an int. A high mark can be set to 0 only, which
/// sets it to the number that it is the highest of.
struct AttributeRow {
  CUmemPool_attribute attribute;
  std::uint64_t Pool::*number;
  std::uint64_t Pool::*highest_of;
  bool writable;
};
constexpr AttributeRow kNumbers[] = {
    {CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &Pool::release_threshold, nullptr, true},
    {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &Pool::reserved, nullptr, false},
    {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &Pool::reserved_high, &Pool::reserved, true},
    {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &Pool::used, nullptr, false},
    {CU_MEMPOOL_ATTR_USED_MEM_HIGH, &Pool::used_high, &Pool::used, true},
};

const AttributeRow* number_row(CUmemPool_attribute attribute) {
  const auto* const row = std::ranges::find(kNumbers, attribute, &AttributeRow::attribute);
  return row == std::end(kNumbers) ? nullptr : row;
}
int* flag_of(Pool& pool, CUmemPool_attribute attribute) {
  const auto index = static_cast<unsigned>(attribute) -
                     static_cast<unsigned>(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
  return index < std::size(pool.reuse) ? &pool.reuse[index] : nullptr;
}

CUresult set_number(Pool& pool, const AttributeRow& row, std::uint64_t value) {
  if (!row.writable) return refuse(CUDA_ERROR_INVALID_VALUE, "the attribute cannot be set");
  if (row.highest_of != nullptr && value != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a high mark can be reset to 0 only");
  pool.*row.number = row.highest_of == nullptr ? value : pool.*row.highest_of;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult set_pool_attribute(Pool& pool, CUmemPool_attribute attribute, const void* value) {
  const PoolsLock lock = lock_pools();
  if (int* const flag = flag_of(pool, attribute)) {
    std::memcpy(flag, value, sizeof *flag);
    return CUDA_SUCCESS;
  }
  const AttributeRow* const row = number_row(attribute);
  if (row == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "unknown attribute");
  std::uint64_t number = 0;
  std::memcpy(&number, value, sizeof number);
  return set_number(pool, *row, number);
}

CUresult get_pool_attribute(Pool& pool, CUmemPool_attribute attribute, void* value) {
  const PoolsLock lock = lock_pools();
  if (const int* const flag = flag_of(pool, attribute)) {
    std::memcpy(value, flag, sizeof *flag);
    return CUDA_SUCCESS;
  }
  const AttributeRow* const row = number_row(attribute);
  if (row == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "unknown attribute");
  std::memcpy(value, &(pool.*row->number), sizeof(std::uint64_t));
  return CUDA_SUCCESS;
}

}  // namespace cuda_twin
