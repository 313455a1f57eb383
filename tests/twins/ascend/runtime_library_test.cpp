// aclInit to aclFinalize, versions, errors of the thread, and the two conversions.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "runtime_support.h"

namespace ascend_test {
namespace {

using RuntimeLibrary = TwinTest;

std::string file_with(const std::string& text) {
  const std::string path = testing::TempDir() + "ascend_twin_configuration.json";
  std::ofstream(path) << text;
  return path;
}

TEST_F(RuntimeLibrary, InitialisesOnceAndFinalisesOnce) {
  EXPECT_EQ(aclInit(""), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclInit(""), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST_F(RuntimeLibrary, CountsReferencesOfTheNewerFinalize) {
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  std::uint64_t left = 9;
  EXPECT_EQ(NEWER(aclFinalizeReference)(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 1U);
  std::int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclFinalizeReference)(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(NEWER(aclFinalizeReference)(nullptr), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_UNINITIALIZE);
}

TEST_F(RuntimeLibrary, StrictModeObjectsToAFinalizeWhileOthersUseTheLibrary) {
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  set("STRICT", "status");
  EXPECT_EQ(aclFinalize(), ACL_ERROR_INTERNAL_ERROR);
  EXPECT_TRUE(objected_to("others use the library"));
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);  // it goes on
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST_F(RuntimeLibrary, ReadsItsConfiguration) {
  ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_EQ(aclInit("/nowhere/acl.json"), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclInit(file_with("no json").c_str()), 100006);
  EXPECT_EQ(aclInit(file_with("").c_str()), 100006);
  EXPECT_EQ(aclInit(file_with("{\"dump\":{\"dump_scene\":\"lite_exception\"}}").c_str()),
            ACL_SUCCESS);
}

/// A failed first phase of the inner kind: a view that leaves its storage.
aclError failing_phase() {
  Tensor<float> good(ACL_FLOAT, {2}, {1, 2});
  const std::int64_t shape[] = {4};
  const std::int64_t storage[] = {2};
  aclTensor* const bad =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, storage, 1, good.address());
  const aclError code = add_to(bad, bad, 1, nullptr);
  aclDestroyTensor(bad);
  return code;
}

TEST_F(RuntimeLibrary, ExceptionInformationKeepsAFailedPhaseFromSpoilingTheNext) {
  const auto next_code = [&](const std::string& configuration) {
    aclFinalize();
    EXPECT_EQ(aclInit(file_with(configuration).c_str()), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(failing_phase(), ACLNN_ERR_INNER_NULLPTR);
    Tensor<float> good(ACL_FLOAT, {1}, {1});
    return add_to(good.get(), good.get(), 1, nullptr);
  };
  set("AFTERMATH", "on");
  EXPECT_EQ(next_code("{}"), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(next_code("{\"dump\":{\"dump_scene\":\"lite_exception\"}}"), ACL_SUCCESS);
}

TEST_F(RuntimeLibrary, TellsTheThreadsLastErrorOnce) {
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);  // of other tests
  EXPECT_EQ(aclrtSetDevice(17), ACL_ERROR_RT_INVALID_DEVICEID);
  on_thread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); });
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetLastError(static_cast<aclrtLastErrLevel>(5)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(5)), ACL_ERROR_INVALID_PARAM);
}

TEST_F(RuntimeLibrary, NamesItsVersions) {
  std::int32_t major = 0, minor = 0, patch = -1;
  EXPECT_EQ(aclrtGetVersion(&major, &minor, &patch), ACL_SUCCESS);
  EXPECT_EQ(major, 1);
  EXPECT_EQ(aclrtGetVersion(&major, nullptr, &patch), ACL_ERROR_INVALID_PARAM);
  aclCANNPackageVersion version;
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &version), ACL_SUCCESS);
  EXPECT_STREQ(version.version, "8.1.RC1");
  EXPECT_STREQ(version.majorVersion, "8");
  EXPECT_EQ(sizeof version, 128U * 2 + 64 * 4);
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(8), &version),
            ACL_ERROR_INVALID_PARAM);
  char package[] = "runtime";
  char none[] = "";
  char text[128] = "";
  std::int32_t number = 0;
  EXPECT_EQ(NEWER(aclsysGetVersionStr)(package, text), ACL_SUCCESS);
  EXPECT_STREQ(text, "9.0.0");
  EXPECT_EQ(NEWER(aclsysGetVersionNum)(package, &number), ACL_SUCCESS);
  EXPECT_EQ(number, 90000000);
  EXPECT_EQ(NEWER(aclsysGetVersionStr)(package, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(NEWER(aclsysGetVersionNum)(nullptr, &number), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(NEWER(aclsysGetVersionStr)(none, text), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(NEWER(aclsysGetVersionNum)(none, &number), ACL_ERROR_INVALID_FILE);
}

TEST_F(RuntimeLibrary, SizesOfTypesAreTheVendors) {
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT), 4U);
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2U);
  EXPECT_EQ(aclDataTypeSize(ACL_INT4), 1U);
  EXPECT_EQ(aclDataTypeSize(ACL_UINT1), 1U);
  EXPECT_EQ(aclDataTypeSize(ACL_COMPLEX128), 16U);
  EXPECT_EQ(aclDataTypeSize(ACL_STRING), 0U);
  EXPECT_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0U);
  EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(99)), 8U);
}

/// The value of a half by its definition, infinities and NaN as one more power of two.
double value_of_half(unsigned half) {
  const unsigned exponent = half >> 10 & 0x1F;
  const double mantissa = half & 0x3FF;
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa, -24)
                               : std::ldexp(mantissa + 1024, static_cast<int>(exponent) - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST_F(RuntimeLibrary, HalvesAreTheVendorsAtInfinity) {
  for (unsigned half = 0; half < 0x10000; ++half) {
    ASSERT_EQ(static_cast<double>(aclFloat16ToFloat(static_cast<aclFloat16>(half))),
              value_of_half(half))
        << half;
  }
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0F);
  EXPECT_EQ(aclFloat16ToFloat(0x7E00), 98304.0F);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(aclFloatToFloat16(infinity), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(-infinity), 0xFBFF);
  EXPECT_EQ(aclFloatToFloat16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(1e30F), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65519.0F), 0x7BFF);
}

TEST_F(RuntimeLibrary, HalvesRoundToNearestAndTiesToEven) {
  for (unsigned half = 0; half < 0x7BFF; ++half) {
    const double low = value_of_half(half), high = value_of_half(half + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact
    const unsigned even = half % 2 == 0 ? half : half + 1;
    ASSERT_EQ(aclFloatToFloat16(static_cast<float>(low)), half);
    ASSERT_EQ(aclFloatToFloat16(middle), even) << half;
    ASSERT_EQ(aclFloatToFloat16(std::nextafterf(middle, 0.0F)), half) << half;
    ASSERT_EQ(aclFloatToFloat16(-std::nextafterf(middle, 1e9F)), (half + 1) | 0x8000) << half;
  }
}

}  // namespace
}  // namespace ascend_test
