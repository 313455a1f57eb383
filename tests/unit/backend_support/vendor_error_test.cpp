// Status codes of a vendor's library as errors.
#include "backend_support/vendor_error.h"

#include <gtest/gtest.h>

#include <array>

namespace shunt::test::backend_support_vendor_error_test {
namespace {

constexpr std::array kCodes = {
    VendorCode{2, "CUDA_ERROR_OUT_OF_MEMORY", ErrorCode::kOutOfMemory, "give it fewer layers"},
    VendorCode{719, "CUDA_ERROR_LAUNCH_FAILED"},
};
constexpr VendorCodes kDecimal = {.library = "CUDA", .codes = kCodes};
constexpr VendorCodes kHex = {.library = "zDNN", .codes = {}, .hex_digits = 8};

TEST(VendorErrors, HaveLibraryFunctionNameNumberAndRemedy) {
  const Error error = vendor_error(kDecimal, "cuMemAlloc", 2, "out of memory");
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(error.message(),
            "CUDA: cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (2); give it fewer layers");
  ASSERT_TRUE(error.vendor());
  EXPECT_EQ(error.vendor()->code, 2);
  EXPECT_EQ(error.vendor()->text, "out of memory");
}

TEST(VendorErrors, WithoutATextUseTheNameOfTheCode) {
  const Error error = vendor_error(kDecimal, "cuStreamSynchronize", 719);
  EXPECT_EQ(error.code(), ErrorCode::kDevice);
  EXPECT_EQ(error.message(),
            "CUDA: cuStreamSynchronize failed with CUDA_ERROR_LAUNCH_FAILED (719)");
  ASSERT_TRUE(error.vendor());
  EXPECT_EQ(error.vendor()->text, "CUDA_ERROR_LAUNCH_FAILED");
}

TEST(VendorErrors, UnknownCodeHasTheNameThatTheLibraryGives) {
  const Error error =
      vendor_error(kDecimal, "cuLaunchKernel", 700, "", "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(error.message(), "CUDA: cuLaunchKernel failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  EXPECT_EQ(error.vendor()->text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(error.code(), ErrorCode::kDevice);
}

TEST(VendorErrors, UnknownCodeKeepsItsNumber) {
  const Error decimal = vendor_error(kDecimal, "cuInit", -1);
  EXPECT_EQ(decimal.code(), ErrorCode::kDevice);
  EXPECT_EQ(decimal.message(), "CUDA: cuInit failed with code -1");
  EXPECT_EQ(decimal.vendor()->code, -1);
  EXPECT_EQ(decimal.vendor()->text, "");
  const Error hex = vendor_error(kHex, "zdnn_exp", 0x000CF000, "its words");
  EXPECT_EQ(hex.message(), "zDNN: zdnn_exp failed with code 0x000cf000");
  EXPECT_EQ(hex.vendor()->code, 0x000CF000);
  EXPECT_EQ(hex.vendor()->text, "its words");
}

}  // namespace
}  // namespace shunt::test::backend_support_vendor_error_test
