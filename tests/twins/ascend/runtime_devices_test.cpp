// Devices, contexts and their options.
#include <chrono>

#include "runtime_support.h"

namespace ascend_test {
namespace {

using RuntimeDevices = TwinTest;

TEST_F(RuntimeDevices, ChecksNumbersAndPointers) {
  restart({{"DEVICES", "2"}});
  std::uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtResetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtResetDeviceForce(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtDeviceTaskAbort(2, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetDevice(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetRunMode(nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(RuntimeDevices, VisibleDevicesOfTheEnvironmentAreNotRead) {
  ::setenv("ASCEND_RT_VISIBLE_DEVICES", "0", 1);
  restart({{"DEVICES", "3"}});
  ::unsetenv("ASCEND_RT_VISIBLE_DEVICES");
  std::uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 3U);
}

TEST_F(RuntimeDevices, ThereIsNoneWithoutAChip) {
  ascend_twin_reset();
  set("PROFILE", "none");
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  std::uint32_t count = 9;
  aclrtRunMode mode = ACL_HOST;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
  EXPECT_EQ(aclrtGetRunMode(&mode), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetSocName(), nullptr);
}

TEST_F(RuntimeDevices, AThreadHasNoContextAtFirst) {
  on_thread([] {
    std::int32_t device = -1;
    void* address = nullptr;
    std::size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMalloc(&address, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
}

TEST_F(RuntimeDevices, TheLastResetEndsTheDefaultContext) {
  OwnStream stream;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_STREAMS), 0U);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream.get()), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(RuntimeDevices, AForcedResetDoesNotCount) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST_F(RuntimeDevices, TheFirstSetDeviceMayBeSlow) {
  ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
  set("SLOW_FIRST_DEVICE", "60");
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(60));
}

TEST_F(RuntimeDevices, ContextsAreOfTheThreadAndKeepTheirStreamsApart) {
  restart({{"DEVICES", "2"}});
  aclrtContext first = nullptr, second = nullptr, current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&first), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&second, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, second);
  std::int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtSetCurrentContext(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(second), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSetCurrentContext(second), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyContext(first), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_CONTEXTS), 0U);
}

TEST_F(RuntimeDevices, ContextCallsCheckPointersAndDevices) {
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtCreateContext(nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateContext(&context, 5), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtDestroyContext(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(NEWER(aclrtCtxGetCurrentDefaultStream)(nullptr), ACL_ERROR_INVALID_PARAM);
  aclrtStream stream = nullptr;
  EXPECT_EQ(NEWER(aclrtCtxGetCurrentDefaultStream)(&stream), ACL_SUCCESS);
  EXPECT_NE(stream, nullptr);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID);
  on_thread([] {
    aclrtContext none = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&none), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(RuntimeDevices, NoThreadKeepsADestroyedContext) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
}

TEST_F(RuntimeDevices, PeersAreEnabledInOneDirectionEach) {
  restart({{"DEVICES", "2"}});
  std::int32_t answer = -1;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&answer, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(answer, 1);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&answer, 0, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(nullptr, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&answer, 0, 2), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 1), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclrtDevicePeerAccessStatus)(0, 1, &answer), ACL_SUCCESS);
  EXPECT_EQ(answer, 1);
  EXPECT_EQ(NEWER(aclrtDevicePeerAccessStatus)(1, 0, &answer), ACL_SUCCESS);
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(NEWER(aclrtDevicePeerAccessStatus)(1, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclrtDevicePeerAccessStatus)(0, 1, &answer), ACL_SUCCESS);
  EXPECT_EQ(answer, 0);
}

TEST_F(RuntimeDevices, PeersMayBeOffAndA310BHasNone) {
  std::int32_t answer = -1;
  restart({{"DEVICES", "2"}, {"PEERS", "off"}});
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&answer, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  restart({{"DEVICES", "2"}, {"PROFILE", "310b"}});
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&answer, 0, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

TEST_F(RuntimeDevices, CapabilitiesAreTheChips) {
  std::int64_t value = 0;
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 20);
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 40);
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 192LL << 20);
  EXPECT_EQ(aclGetDeviceCapability(0, static_cast<aclDeviceInfo>(7), &value),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetDeviceCapability(9, ACL_DEVICE_INFO_L2_SIZE, &value),
            ACL_ERROR_RT_INVALID_DEVICEID);
  const auto info = NEWER(aclrtGetDeviceInfo);
  const std::int64_t expected[][2] = {{101, 20},         {102, 20},        {201, 40},
                                      {301, 64LL << 30}, {302, 192 << 20}, {601, 2201}};
  for (const auto& [which, answer] : expected) {
    EXPECT_EQ(info(0, static_cast<aclrtDevAttr>(which), &value), ACL_SUCCESS) << which;
    EXPECT_EQ(value, answer) << which;
  }
  EXPECT_EQ(info(0, static_cast<aclrtDevAttr>(999), &value), ACL_ERROR_INVALID_PARAM);
}

TEST_F(RuntimeDevices, SaturationIsTheOnlyModeOfThe310s) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceSatMode(nullptr), ACL_ERROR_INVALID_PARAM);
  restart({{"PROFILE", "310p"}});
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

TEST_F(RuntimeDevices, NewStreamsSaturateAsTheDeviceIsSet) {
  OwnStream before;
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  OwnStream after;
  const auto sum_on = [](aclrtStream stream) {
    Tensor<std::uint16_t> large(ACL_FLOAT16, {1}, {0x7BFF});  // 65504
    EXPECT_EQ(add_to(large.get(), large.get(), 1, stream), ACL_SUCCESS);
    EXPECT_EQ(sync(stream), ACL_SUCCESS);
    return large.values()[0];
  };
  EXPECT_EQ(sum_on(before.get()), 0x7C00);
  EXPECT_EQ(sum_on(after.get()), 0x7BFF);
}

TEST_F(RuntimeDevices, OptionsAreOfTheContext) {
  std::int64_t value = -1;
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value),
            ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value),
            ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value), ACL_SUCCESS);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(static_cast<aclSysParamOpt>(3), 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(-1), 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(RuntimeDevices, UtilizationIsOfMemory) {
  restart({{"MEMORY", "1048576"}});
  Buffer half(524288 - 32);
  aclrtUtilizationInfo rate = {-1, -1, -1, -1, nullptr};
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &rate), ACL_SUCCESS);
  EXPECT_EQ(rate.memoryUtilization, 50);
  EXPECT_EQ(rate.cubeUtilization, 0);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(3, &rate), ACL_ERROR_RT_INVALID_DEVICEID);
  rate.utilizationExtend = reinterpret_cast<aclrtUtilizationExtendInfo*>(&rate);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &rate), ACL_ERROR_INVALID_PARAM);
}

TEST_F(RuntimeDevices, A310PHasNoTimeoutOfWaits) {
  EXPECT_EQ(aclrtSetOpWaitTimeout(5), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetOpExecuteTimeOut(5), ACL_SUCCESS);
  restart({{"PROFILE", "310p"}});
  EXPECT_EQ(aclrtSetOpWaitTimeout(5), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtSetOpExecuteTimeOut(5), ACL_SUCCESS);
}

TEST_F(RuntimeDevices, ALostDeviceAnswersNothing) {
  set("FAIL_LOST", "2");
  std::int32_t device = 0;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_LOST_HEARTBEAT);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_LOST_HEARTBEAT);
}

}  // namespace
}  // namespace ascend_test
