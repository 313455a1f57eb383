// Types and numbers of the vendor's C interface (ACL and aclnn), declared as its public
// documentation has them. No header of Huawei's is needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::cann {

/// aclError, aclnnStatus.
using Status32 = std::int32_t;
/// An address in a device's memory.
using DevicePointer = std::byte*;
// aclrtContext, aclrtStream, aclrtEvent, aclmdlRI.
using ContextHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;
using ModelHandle = void*;
using TensorHandle = struct AclTensor*;
using ScalarHandle = struct AclScalar*;
using IntArrayHandle = struct AclIntArray*;
using TensorListHandle = struct AclTensorList*;
using ExecutorHandle = struct AclOpExecutor*;

/// Status codes that are handled. 100xxx and 500xxx are of the front end, 107xxx to 507xxx of the
/// runtime, 161xxx, 361xxx and 561xxx of the operators.
enum : Status32 {
  kSuccess = 0,
  kRepeatedInit = 100002,
  kStubLibrary = 100039,
  kOppPathInvalid = 148049,
  kBadAlloc = 200000,
  kContextNull = 107002,
  kFeatureNotSupported = 207000,
  kMemoryAllocation = 207001,
  kResourceAllocation = 207005,
  kNoEventResource = 207007,
  kNoStreamResource = 207008,
  kDeviceOutOfMemory = 207018,
  kTaskScheduler = 507001,
  kLostHeartbeat = 507010,
  kAiCoreException = 507015,
  kDeviceSetup = 507033,
  kVectorCoreException = 507035,
  kStreamSyncTimeout = 507046,
  kEventSyncTimeout = 507047,
  kDeviceMemoryError = 507053,
  kUncorrectableEcc = 507054,
  kNullParameter = 161001,
  kInvalidParameter = 161002,
  kOpRuntimeError = 361001,
  kOpInner = 561000,
  kOpKernelNotFound = 561003,
  kOpInnerNull = 561103,
  kOpPathNotFound = 561107,
  kOpPackageNotFound = 561112,
};

/// aclDataType.
enum class DataType : int {
  kFloat = 0,
  kFloat16 = 1,
  kInt8 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 6,
  kInt64 = 9,
  kDouble = 11,
  kBool = 12,
  kBFloat16 = 27,
  kInt4 = 29,
};

/// aclFormat.
enum class Format : int { kNchw = 0, kPlain = 2, kFractalNz = 29, kNcdhw = 30, kNcl = 47 };

/// aclrtMemcpyKind.
enum class CopyKind : int { kToDevice = 1, kToHost = 2, kOnDevice = 3 };

/// aclrtMemMallocPolicy.
enum MallocPolicy : int { kHugeFirst = 0 };
/// aclrtMemAttr.
enum MemoryAttribute : int { kHbmMemory = 1 };
/// aclrtRunMode.
enum RunMode : int { kOnDeviceHost = 0, kOnHost = 1 };
/// aclrtStreamStatus.
enum StreamStatus : int { kStreamComplete = 0 };
/// Flags of events.
enum : std::uint32_t { kEventSync = 1, kEventTimeLine = 8 };
/// aclmdlRICaptureMode.
enum CaptureMode : int { kCaptureRelaxed = 2 };
/// aclSysParamOpt.
enum SystemOption : int { kDeterministic = 0 };
/// aclDeviceInfo.
enum DeviceCapability : int { kAiCores = 0 };

/// cubeMathType: the numbers in which products of F32 are computed.
enum class CubeMath : std::int8_t { kKeep = 0, kLowerPrecision = 1, kF16 = 2, kHf32 = 3 };

}  // namespace shunt::cann
