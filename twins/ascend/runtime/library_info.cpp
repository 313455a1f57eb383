// Versions, and conversions that the runtime library exports.
#include <bit>
#include <cstring>
#include <string_view>

#include "ascend/call.h"
#include "ascend/include/acl/acl_runtime.h"

using namespace ascend_twin;

namespace {

constexpr std::string_view kVersion81 = "8.1.RC1";
constexpr std::string_view kVersion90 = "9.0.0";
constexpr std::int32_t kNumber90 = 90000000;

void put(char* to, std::string_view text) {
  to[text.copy(to, ACL_PKG_VERSION_PARTS_MAX_SIZE - 1)] = '\0';
}

/// Bytes of a type; 8 for those without a row, as the vendor's function has it.
struct TypeBytes {
  aclDataType type;
  std::size_t bytes;
};
constexpr TypeBytes kBytes[] = {
    {ACL_DT_UNDEFINED, 0}, {ACL_STRING, 0}, {ACL_BOOL, 1},      {ACL_INT8, 1},
    {ACL_UINT8, 1},        {ACL_INT4, 1},   {ACL_UINT1, 1},     {ACL_FLOAT16, 2},
    {ACL_BF16, 2},         {ACL_INT16, 2},  {ACL_UINT16, 2},    {ACL_FLOAT, 4},
    {ACL_INT32, 4},        {ACL_UINT32, 4}, {ACL_COMPLEX32, 4}, {ACL_INT64, 8},
    {ACL_UINT64, 8},       {ACL_DOUBLE, 8}, {ACL_COMPLEX64, 8}, {ACL_COMPLEX128, 16},
};

}  // namespace

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return call("aclsysGetCANNVersion", Need::kNothing, [&]() -> Status {
    if (version == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the version's pointer is null");
    if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER)
      return refuse(ACL_ERROR_INVALID_PARAM, "package " + std::to_string(name));
    std::memset(version, 0, sizeof *version);
    put(version->version, kVersion81);
    put(version->majorVersion, "8");
    put(version->minorVersion, "1");
    put(version->releaseVersion, "RC1");
    put(version->patchVersion, "0");
    return ACL_SUCCESS;
  });
}

aclError aclsysGetVersionStr(char* package, char* text) {
  return call("aclsysGetVersionStr", Need::kNothing, [&]() -> Status {
    if (package == nullptr || text == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null");
    if (*package == '\0') return refuse(ACL_ERROR_INVALID_FILE, "no package");
    put(text, kVersion90);
    return ACL_SUCCESS;
  });
}

aclError aclsysGetVersionNum(char* package, int32_t* number) {
  return call("aclsysGetVersionNum", Need::kNothing, [&]() -> Status {
    if (package == nullptr || number == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null");
    if (*package == '\0') return refuse(ACL_ERROR_INVALID_FILE, "no package");
    *number = kNumber90;
    return ACL_SUCCESS;
  });
}

size_t aclDataTypeSize(aclDataType type) {
  count_call("aclDataTypeSize");
  for (const TypeBytes& row : kBytes) {
    if (row.type == type) return row.bytes;
  }
  return 8;
}

aclFloat16 aclFloatToFloat16(float value) {
  count_call("aclFloatToFloat16");
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  constexpr std::uint32_t kLargest = 0x7BFFU;
  if (magnitude >= 0x477FF000U) return sign | kLargest;  // rounds beyond 65504; infinities, NaN
  const std::uint32_t exponent = magnitude >> 23;
  // Bits that fall off, and the value without them: to nearest, ties to even.
  const std::uint32_t shift = exponent >= 113 ? 13 : 126 - exponent;
  if (shift > 24) return sign;
  const std::uint32_t kept =
      exponent >= 113 ? magnitude - (112U << 23) : (magnitude & 0x7FFFFFU) | 0x800000U;
  const std::uint32_t half = 1U << (shift - 1);
  const std::uint32_t rest = kept & ((1U << shift) - 1);
  std::uint32_t result = kept >> shift;
  if (rest > half || (rest == half && (result & 1U) != 0)) ++result;
  return static_cast<aclFloat16>(sign | result);
}

/// An exponent of all ones is one more power of two: infinity is 65536, the common NaN 98304.
float aclFloat16ToFloat(aclFloat16 value) {
  count_call("aclFloat16ToFloat");
  const std::uint32_t sign = (value & 0x8000U) << 16;
  const std::uint32_t exponent = value >> 10 & 0x1FU;
  const std::uint32_t mantissa = value & 0x3FFU;
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float small = static_cast<float>(mantissa) * 0x1p-24F;
  return (sign != 0) ? -small : small;
}
