// The functions of the vendor's runtime and of its descriptors. Bound by name when the libraries
// are opened. Operators are looked up one by one (vendor_ops.h).
#pragma once

#include <span>

#include "backend_support/symbol_table.h"
#include "backends/cann/acl.h"

namespace shunt::cann {

/// Named as the library names them, without the prefix. Null where a library lacks one that is
/// optional.
struct Symbols {
  // Runtime.
  Status32 (*init)(const char* config) = nullptr;
  Status32 (*init_ops)(const char* config) = nullptr;
  Status32 (*finalize)() = nullptr;
  Status32 (*finalize_reference)(std::uint64_t* count) = nullptr;
  const char* (*recent_message)() = nullptr;
  const char* (*soc_name)() = nullptr;
  Status32 (*version)(std::int32_t* major, std::int32_t* minor, std::int32_t* patch) = nullptr;
  Status32 (*run_mode)(RunMode*) = nullptr;
  Status32 (*device_count)(std::uint32_t*) = nullptr;
  Status32 (*set_device)(std::int32_t) = nullptr;
  Status32 (*reset_device)(std::int32_t) = nullptr;
  Status32 (*device_capability)(std::uint32_t device, DeviceCapability, std::int64_t*) = nullptr;
  Status32 (*set_system_option)(SystemOption, std::int64_t) = nullptr;
  Status32 (*can_access_peer)(std::int32_t* can, std::int32_t device, std::int32_t peer) = nullptr;
  Status32 (*enable_peer)(std::int32_t peer, std::uint32_t flags) = nullptr;
  Status32 (*set_context)(ContextHandle) = nullptr;
  Status32 (*get_context)(ContextHandle*) = nullptr;
  Status32 (*memory_info)(MemoryAttribute, std::size_t* free, std::size_t* total) = nullptr;
  Status32 (*malloc)(void**, std::size_t, MallocPolicy) = nullptr;
  Status32 (*free)(void*) = nullptr;
  Status32 (*malloc_host)(void**, std::size_t) = nullptr;
  Status32 (*free_host)(void*) = nullptr;
  Status32 (*memcpy)(void* to, std::size_t most, const void* from, std::size_t bytes,
                     CopyKind) = nullptr;
  Status32 (*memcpy_async)(void* to, std::size_t most, const void* from, std::size_t bytes,
                           CopyKind, StreamHandle) = nullptr;
  Status32 (*memcpy_2d_async)(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              CopyKind, StreamHandle) = nullptr;
  Status32 (*memset)(void*, std::size_t most, std::int32_t value, std::size_t bytes) = nullptr;
  Status32 (*create_stream)(StreamHandle*) = nullptr;
  Status32 (*destroy_stream)(StreamHandle) = nullptr;
  Status32 (*synchronize_stream)(StreamHandle, std::int32_t milliseconds) = nullptr;
  Status32 (*query_stream)(StreamHandle, StreamStatus*) = nullptr;
  Status32 (*create_event)(EventHandle*, std::uint32_t flags) = nullptr;
  Status32 (*destroy_event)(EventHandle) = nullptr;
  Status32 (*record_event)(EventHandle, StreamHandle) = nullptr;
  Status32 (*wait_event)(StreamHandle, EventHandle) = nullptr;
  Status32 (*synchronize_event)(EventHandle, std::int32_t milliseconds) = nullptr;
  Status32 (*elapsed_time)(float* milliseconds, EventHandle begin, EventHandle end) = nullptr;
  // Captured graphs.
  Status32 (*capture_begin)(StreamHandle, CaptureMode) = nullptr;
  Status32 (*capture_end)(StreamHandle, ModelHandle*) = nullptr;
  Status32 (*execute_model)(ModelHandle, StreamHandle) = nullptr;
  Status32 (*destroy_model)(ModelHandle) = nullptr;
  // Descriptors. Dimensions, strides and offsets are in elements, the outermost dimension first.
  TensorHandle (*create_tensor)(const std::int64_t* sizes, std::uint64_t rank, DataType,
                                const std::int64_t* strides, std::int64_t offset, Format,
                                const std::int64_t* storage, std::uint64_t storage_rank,
                                void* data) = nullptr;
  Status32 (*destroy_tensor)(const AclTensor*) = nullptr;
  ScalarHandle (*create_scalar)(void* value, DataType) = nullptr;
  Status32 (*destroy_scalar)(const AclScalar*) = nullptr;
  IntArrayHandle (*create_int_array)(const std::int64_t*, std::uint64_t) = nullptr;
  Status32 (*destroy_int_array)(const AclIntArray*) = nullptr;
  TensorListHandle (*create_tensor_list)(const AclTensor* const*, std::uint64_t) = nullptr;
  Status32 (*destroy_tensor_list)(const AclTensorList*) = nullptr;
  Status32 (*set_repeatable)(ExecutorHandle) = nullptr;
  Status32 (*destroy_executor)(ExecutorHandle) = nullptr;
};

/// Features of which a library may lack functions.
inline constexpr const char* kGraphsFeature = "captured graphs";
inline constexpr const char* kDeterminismFeature = "results with the same bits in each run";
inline constexpr const char* kTimesFeature = "times of work in traces";
inline constexpr const char* kPeersFeature = "direct copies between devices";

std::span<const SymbolRow<Symbols>> symbol_rows();
/// The name of a function: for messages.
template <auto Function>
const char* name_of() {
  return shunt::name_of<Function>(symbol_rows());
}

}  // namespace shunt::cann
