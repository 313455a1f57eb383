/* The runtime: libascendcl.so, or libacl_rt.so of the split layout. Functions marked 9 are in the
 * split layout only. */
#ifndef ASCEND_TWIN_ACL_RUNTIME_H
#define ASCEND_TWIN_ACL_RUNTIME_H

#include "acl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of the runtime alone. */
enum {
  ACL_ERROR_RT_STREAM_SUBSCRIBE = 107011,
  ACL_ERROR_RT_THREAD_SUBSCRIBE = 107012,
  ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL = 107007
};

/* --- Library */
aclError aclInit(const char* configPath);
aclError aclFinalize(void);
/* 9. Counts down; the last one finalises. `count` may be NULL. */
aclError aclFinalizeReference(uint64_t* count);
/* Text for the calling thread; NULL if there is none. Reading clears it. */
const char* aclGetRecentErrMsg(void);
typedef enum aclrtLastErrLevel ACL_ENUM { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;
aclError aclrtGetLastError(aclrtLastErrLevel level);
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
aclError aclrtGetThreadLastTaskId(uint32_t* task);
const char* aclrtGetSocName(void);
aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch);

typedef enum aclCANNPackageName ACL_ENUM {
  ACL_PKG_NAME_CANN = 0,
  ACL_PKG_NAME_RUNTIME = 1,
  ACL_PKG_NAME_COMPILER = 2,
  ACL_PKG_NAME_HCCL = 3,
  ACL_PKG_NAME_TOOLKIT = 4,
  ACL_PKG_NAME_OPP = 5,
  ACL_PKG_NAME_OPP_KERNEL = 6,
  ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;
#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64
typedef struct aclCANNPackageVersion {
  char version[ACL_PKG_VERSION_MAX_SIZE];
  char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;
aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version);
/* 9. `text` has room for 128 characters. */
aclError aclsysGetVersionStr(char* package, char* text);
/* 9. 9.0.0 is 90000000. */
aclError aclsysGetVersionNum(char* package, int32_t* number);

/* Bytes of an element; 1 for INT4. */
size_t aclDataTypeSize(aclDataType type);
/* Not IEEE's at infinities and NaN. */
aclFloat16 aclFloatToFloat16(float value);
float aclFloat16ToFloat(aclFloat16 value);

/* --- Devices */
typedef enum aclDeviceInfo ACL_ENUM {
  ACL_DEVICE_INFO_UNDEFINED = -1,
  ACL_DEVICE_INFO_AI_CORE_NUM = 0,
  ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
  ACL_DEVICE_INFO_L2_SIZE = 2
} aclDeviceInfo;
typedef enum aclrtDevAttr ACL_ENUM {
  ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
  ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
  ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
  ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301,
  ACL_DEV_ATTR_L2_CACHE_SIZE = 302,
  ACL_DEV_ATTR_NPU_ARCH = 601
} aclrtDevAttr;
typedef enum aclrtFloatOverflowMode ACL_ENUM {
  ACL_RT_OVERFLOW_MODE_SATURATION = 0,
  ACL_RT_OVERFLOW_MODE_INFNAN = 1,
  ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;
typedef enum aclSysParamOpt ACL_ENUM {
  ACL_OPT_DETERMINISTIC = 0,
  ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
  ACL_OPT_STRONG_CONSISTENCY = 2
} aclSysParamOpt;
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;
typedef struct aclrtUtilizationInfo {
  int32_t cubeUtilization;
  int32_t vectorUtilization;
  int32_t aicpuUtilization;
  int32_t memoryUtilization;
  aclrtUtilizationExtendInfo* utilizationExtend;
} aclrtUtilizationInfo;

aclError aclrtGetRunMode(aclrtRunMode* mode);
aclError aclrtGetDeviceCount(uint32_t* count);
aclError aclrtSetDevice(int32_t device);
aclError aclrtGetDevice(int32_t* device);
aclError aclrtResetDevice(int32_t device);
aclError aclrtResetDeviceForce(int32_t device);
aclError aclrtSynchronizeDevice(void);
aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds);
aclError aclrtDeviceTaskAbort(int32_t device, uint32_t timeout);
aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer);
aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags);
aclError aclrtDeviceDisablePeerAccess(int32_t peer);
/* 9 */
aclError aclrtDevicePeerAccessStatus(int32_t device, int32_t peer, int32_t* status);
aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo which, int64_t* value);
/* 9 */
aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr which, int64_t* value);
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);
aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode);
aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value);
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value);
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt option, int64_t* value);
aclError aclrtGetDeviceUtilizationRate(int32_t device, aclrtUtilizationInfo* rate);
aclError aclrtSetOpWaitTimeout(uint32_t seconds);
aclError aclrtSetOpExecuteTimeOut(uint32_t seconds);

/* --- Contexts */
aclError aclrtCreateContext(aclrtContext* context, int32_t device);
aclError aclrtDestroyContext(aclrtContext context);
aclError aclrtSetCurrentContext(aclrtContext context);
aclError aclrtGetCurrentContext(aclrtContext* context);
/* 9 */
aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream);

/* --- Memory */
typedef enum aclrtMallocAttrType ACL_ENUM {
  ACL_RT_MEM_ATTR_RSV = 0,
  ACL_RT_MEM_ATTR_MODULE_ID = 1,
  ACL_RT_MEM_ATTR_DEVICE_ID = 2,
  ACL_RT_MEM_ATTR_VA_FLAG = 3
} aclrtMallocAttrType;
typedef union aclrtMallocAttrValue {
  uint16_t moduleId;
  uint32_t deviceId;
  uint32_t vaFlag;
  uint8_t rsv[8];
} aclrtMallocAttrValue;
typedef struct aclrtMallocAttribute {
  aclrtMallocAttrType attr;
  aclrtMallocAttrValue value;
} aclrtMallocAttribute;
typedef struct aclrtMallocConfig {
  aclrtMallocAttribute* attrs;
  size_t numAttrs;
} aclrtMallocConfig;
typedef enum aclrtMemLocationType ACL_ENUM {
  ACL_MEM_LOCATION_TYPE_HOST = 0,
  ACL_MEM_LOCATION_TYPE_DEVICE = 1,
  ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2
} aclrtMemLocationType;
/* The device's number comes first. */
typedef struct aclrtMemLocation {
  uint32_t id;
  aclrtMemLocationType type;
} aclrtMemLocation;
typedef struct aclrtPtrAttributes {
  aclrtMemLocation location;
  uint32_t pageSize;
  uint32_t rsv[4];
} aclrtPtrAttributes;
typedef struct aclrtMemcpyBatchAttr {
  aclrtMemLocation dstLoc;
  aclrtMemLocation srcLoc;
  uint8_t rsv[16];
} aclrtMemcpyBatchAttr;
typedef enum aclrtHostRegisterType ACL_ENUM {
  ACL_HOST_REGISTER_MAPPED = 0,
  ACL_HOST_REGISTER_IOMEMORY = 4,
  ACL_HOST_REGISTER_READONLY = 8
} aclrtHostRegisterType;
#define ACL_HOST_REG_MAPPED 0x2UL
#define ACL_HOST_REG_PINNED 0x10000000UL

aclError aclrtMalloc(void** address, size_t size, aclrtMemMallocPolicy policy);
aclError aclrtMallocAlign32(void** address, size_t size, aclrtMemMallocPolicy policy);
aclError aclrtMallocCached(void** address, size_t size, aclrtMemMallocPolicy policy);
aclError aclrtMallocWithCfg(void** address, size_t size, aclrtMemMallocPolicy policy,
                            aclrtMallocConfig* config);
aclError aclrtMemFlush(void* address, size_t size);
aclError aclrtMemInvalidate(void* address, size_t size);
aclError aclrtFree(void* address);
/* 9. Waits for the device before. */
aclError aclrtFreeWithDevSync(void* address);
aclError aclrtMallocHost(void** address, size_t size);
aclError aclrtFreeHost(void* address);
aclError aclrtHostRegister(void* address, uint64_t size, aclrtHostRegisterType type, void** device);
/* 9 */
aclError aclrtHostRegisterV2(void* address, uint64_t size, uint32_t flags);
aclError aclrtHostUnregister(void* address);
/* 9 */
aclError aclrtHostGetDevicePointer(void* address, void** device, uint32_t flags);
aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t* free, size_t* total);
aclError aclrtPointerGetAttributes(const void* address, aclrtPtrAttributes* attributes);
aclError aclrtMemcpy(void* to, size_t most, const void* from, size_t count, aclrtMemcpyKind kind);
aclError aclrtMemcpyAsync(void* to, size_t most, const void* from, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream);
aclError aclrtMemset(void* address, size_t most, int32_t value, size_t count);
aclError aclrtMemsetAsync(void* address, size_t most, int32_t value, size_t count,
                          aclrtStream stream);
aclError aclrtMemcpy2d(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width,
                       size_t height, aclrtMemcpyKind kind);
aclError aclrtMemcpy2dAsync(void* to, size_t toPitch, const void* from, size_t fromPitch,
                            size_t width, size_t height, aclrtMemcpyKind kind, aclrtStream stream);
/* 9. Attribute i is of the copies from attrsIndexes[i] on. */
aclError aclrtMemcpyBatch(void** to, size_t* most, void** from, size_t* sizes, size_t count,
                          aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                          size_t* failed);
aclError aclrtMemcpyBatchAsync(void** to, size_t* most, void** from, size_t* sizes, size_t count,
                               aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                               size_t* failed, aclrtStream stream);

/* --- Virtual memory */
typedef enum aclrtMemHandleType ACL_ENUM { ACL_MEM_HANDLE_TYPE_NONE = 0 } aclrtMemHandleType;
typedef enum aclrtMemAllocationType ACL_ENUM {
  ACL_MEM_ALLOCATION_TYPE_PINNED = 0
} aclrtMemAllocationType;
typedef struct aclrtPhysicalMemProp {
  aclrtMemHandleType handleType;
  aclrtMemAllocationType allocationType;
  aclrtMemAttr memAttr;
  aclrtMemLocation location;
  uint64_t reserve;
} aclrtPhysicalMemProp;
typedef enum aclrtMemGranularityOptions ACL_ENUM {
  ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
  ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xFFFF
} aclrtMemGranularityOptions;
typedef enum aclrtMemAccessFlags ACL_ENUM {
  ACL_RT_MEM_ACCESS_FLAGS_NONE = 0,
  ACL_RT_MEM_ACCESS_FLAGS_READ = 1,
  ACL_RT_MEM_ACCESS_FLAGS_READWRITE = 3
} aclrtMemAccessFlags;
typedef struct aclrtMemAccessDesc {
  aclrtMemAccessFlags flags;
  aclrtMemLocation location;
  uint8_t rsv[12];
} aclrtMemAccessDesc;

aclError aclrtReserveMemAddress(void** address, size_t size, size_t alignment, void* expected,
                                uint64_t flags);
aclError aclrtReleaseMemAddress(void* address);
aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* properties, uint64_t flags);
aclError aclrtFreePhysical(aclrtDrvMemHandle handle);
aclError aclrtMapMem(void* address, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags);
aclError aclrtUnmapMem(void* address);
/* 9 */
aclError aclrtMemSetAccess(void* address, size_t size, aclrtMemAccessDesc* access, size_t count);
aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* properties,
                                          aclrtMemGranularityOptions option, size_t* granularity);

/* --- Streams */
#define ACL_CONTINUE_ON_FAILURE 0x0U
#define ACL_STOP_ON_FAILURE 0x1U
aclError aclrtCreateStream(aclrtStream* stream);
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flags);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtDestroyStreamForce(aclrtStream stream);
aclError aclrtSynchronizeStream(aclrtStream stream);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t milliseconds);
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);
aclError aclrtStreamGetId(aclrtStream stream, int32_t* id);
/* 9 */
aclError aclrtGetStreamAvailableNum(uint32_t* count);
aclError aclrtStreamAbort(aclrtStream stream);

/* --- Events */
typedef enum aclrtEventWaitStatus ACL_ENUM {
  ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
  ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
  ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF
} aclrtEventWaitStatus;
aclError aclrtCreateEvent(aclrtEvent* event);
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flags);
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flags);
aclError aclrtDestroyEvent(aclrtEvent event);
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
aclError aclrtSynchronizeEvent(aclrtEvent event);
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t milliseconds);
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);
aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);
aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end);
aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* microseconds);

/* --- Callbacks */
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo* info);
aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);
/* 9. Several at once. */
aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback);
aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback);
/* 0xFFFFFFFF for anything but the calling callback's own information. */
uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info);
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info);
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info);
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info);
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info);

typedef void (*aclrtCallback)(void* userData);
typedef void (*aclrtHostFunc)(void* args);
typedef enum aclrtCallbackBlockType ACL_ENUM {
  ACL_CALLBACK_NO_BLOCK = 0,
  ACL_CALLBACK_BLOCK = 1
} aclrtCallbackBlockType;
/* The thread is pthread_self() of the one that calls aclrtProcessReport(). */
aclError aclrtSubscribeReport(uint64_t thread, aclrtStream stream);
aclError aclrtUnSubscribeReport(uint64_t thread, aclrtStream stream);
aclError aclrtProcessReport(int32_t milliseconds);
aclError aclrtLaunchCallback(aclrtCallback callback, void* userData, aclrtCallbackBlockType block,
                             aclrtStream stream);
/* 9. On a thread of the runtime. */
aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc function, void* args);

#ifdef __cplusplus
}
#endif
#endif
