/* Results of calls: name, number, text. */
#ifndef CUDA_TWIN_DRIVER_ERRORS_H
#define CUDA_TWIN_DRIVER_ERRORS_H

#include "enum.h"

#define CUDA_TWIN_RESULTS(X)                                                                  \
  X(CUDA_SUCCESS, 0, "no error")                                                              \
  X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                                          \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                             \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                                    \
  X(CUDA_ERROR_DEINITIALIZED, 4, "driver shutting down")                                      \
  X(CUDA_ERROR_PROFILER_DISABLED, 5, "profiler disabled")                                     \
  X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6, "profiler not initialized")                       \
  X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7, "profiler already started")                       \
  X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8, "profiler already stopped")                       \
  X(CUDA_ERROR_STUB_LIBRARY, 34, "the library is a stub")                                     \
  X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36, "the call requires a newer driver")            \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "device is busy or unavailable")                       \
  X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected")                          \
  X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                                 \
  X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102, "device lacks a licence")                            \
  X(CUDA_ERROR_INVALID_IMAGE, 200, "device kernel image is invalid")                          \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                                \
  X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202, "context already current")                       \
  X(CUDA_ERROR_MAP_FAILED, 205, "mapping failed")                                             \
  X(CUDA_ERROR_UNMAP_FAILED, 206, "unmapping failed")                                         \
  X(CUDA_ERROR_ARRAY_IS_MAPPED, 207, "array is mapped")                                       \
  X(CUDA_ERROR_ALREADY_MAPPED, 208, "already mapped")                                         \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image is available for the device")         \
  X(CUDA_ERROR_ALREADY_ACQUIRED, 210, "already acquired")                                     \
  X(CUDA_ERROR_NOT_MAPPED, 211, "not mapped")                                                 \
  X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212, "not mapped as an array")                            \
  X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213, "not mapped as a pointer")                         \
  X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "uncorrectable ECC error")                             \
  X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, "unsupported limit")                                   \
  X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216, "context in use by another thread")               \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217, "peer access is not supported")                  \
  X(CUDA_ERROR_INVALID_PTX, 218, "PTX compilation failed")                                    \
  X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219, "invalid graphics context")                     \
  X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220, "uncorrectable NVLink error")                       \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "PTX compiler library not found")                 \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, "PTX version is newer than the driver's")        \
  X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223, "PTX compilation is disabled")                  \
  X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224, "unsupported execution affinity")              \
  X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225, "unsupported synchronization on the device")    \
  X(CUDA_ERROR_CONTAINED, 226, "contained error")                                             \
  X(CUDA_ERROR_INVALID_SOURCE, 300, "invalid kernel source")                                  \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301, "file not found")                                         \
  X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "shared object symbol not found")         \
  X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303, "shared object initialization failed")         \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304, "a system call failed")                                 \
  X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                                \
  X(CUDA_ERROR_ILLEGAL_STATE, 401, "illegal state for the operation")                         \
  X(CUDA_ERROR_LOSSY_QUERY, 402, "the query would lose information")                          \
  X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                                      \
  X(CUDA_ERROR_NOT_READY, 600, "device not ready")                                            \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "illegal memory access")                                 \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")       \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated")                \
  X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703, "incompatible texturing mode")             \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is already enabled")            \
  X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access is not enabled")                    \
  X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "primary context is active")                      \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed")                             \
  X(CUDA_ERROR_ASSERT, 710, "device-side assert")                                             \
  X(CUDA_ERROR_TOO_MANY_PEERS, 711, "too many peers")                                         \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "memory range is already registered")     \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "memory range is not registered")             \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "call stack error on the device")                   \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "illegal instruction")                               \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address")                                 \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, "address in the wrong state space")                \
  X(CUDA_ERROR_INVALID_PC, 718, "invalid program counter")                                    \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure")                              \
  X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, "too many blocks in a cooperative launch")  \
  X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721, "tensor memory was not freed")                        \
  X(CUDA_ERROR_NOT_PERMITTED, 800, "operation not permitted")                                 \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported")                                 \
  X(CUDA_ERROR_SYSTEM_NOT_READY, 802, "system not yet initialized")                           \
  X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, "display driver and CUDA driver differ")          \
  X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, "no forward compatibility on the device") \
  X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805, "MPS: connection failed")                          \
  X(CUDA_ERROR_MPS_RPC_FAILURE, 806, "MPS: remote procedure call failed")                     \
  X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807, "MPS: server not ready")                            \
  X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808, "MPS: too many clients")                         \
  X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809, "MPS: too many connections")                 \
  X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810, "MPS: client terminated")                          \
  X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811, "dynamic parallelism is not supported")                \
  X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812, "dynamic parallelism: versions differ")             \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "not permitted while a stream captures")      \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "the capture failed earlier")                 \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "the operation would merge two captures")           \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "the capture began in another stream")          \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "captured work was not joined")                  \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "dependency on work outside the capture")       \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "implicit dependency of the legacy stream")      \
  X(CUDA_ERROR_CAPTURED_EVENT, 907, "the event was recorded in a capture")                    \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "the capture began in another thread")       \
  X(CUDA_ERROR_TIMEOUT, 909, "timeout")                                                       \
  X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, "the update of a graph is not possible")       \
  X(CUDA_ERROR_EXTERNAL_DEVICE, 911, "error of an external device")                           \
  X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, "invalid cluster size")                             \
  X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913, "function not loaded")                               \
  X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914, "invalid resource type")                           \
  X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915, "invalid resource configuration")         \
  X(CUDA_ERROR_KEY_ROTATION, 916, "key rotation failed")                                      \
  X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

#define CUDA_TWIN_ENUMERATOR(name, number, text) name = number,
typedef enum cudaError_enum CUDA_TWIN_ENUM { CUDA_TWIN_RESULTS(CUDA_TWIN_ENUMERATOR) } CUresult;
#undef CUDA_TWIN_ENUMERATOR

#endif
