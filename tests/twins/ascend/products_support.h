// For tests of products and attention: 16-bit floats by their own conversion, views, and the
// functions that only the split layout has.
#pragma once

#include <dlfcn.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "support.h"

namespace ascend_test {

using Half = std::uint16_t;

/// By the bits of the FP32, ties to even; infinities beyond the range.
inline Half half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<Half>(bits >> 16 & 0x8000U);
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<Half>(sign | 0x7E00U);
  if (size >= 0x47800000U) return static_cast<Half>(sign | 0x7C00U);  // 65536
  if (size < 0x38800000U) {                                           // subnormal below 2^-14
    return static_cast<Half>(sign | static_cast<Half>(std::lrint(
                                        std::ldexp(static_cast<double>(std::fabs(value)), 24))));
  }
  const std::uint32_t rounded = size - 0x38000000U + 0xFFFU + (size >> 13 & 1U);
  return static_cast<Half>(sign | rounded >> 13);
}
inline float float_of(Half bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float size = std::ldexp(static_cast<float>(exponent == 0 ? mantissa : mantissa + 1024),
                          (exponent == 0 ? 1 : exponent) - 25);
  if (exponent == 31) size = mantissa == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -size : size;
}
inline std::vector<Half> halves(const std::vector<float>& values) {
  std::vector<Half> result;
  for (const float value : values) result.push_back(half(value));
  return result;
}
inline std::vector<float> floats(const std::vector<Half>& values) {
  std::vector<float> result;
  for (const Half value : values) result.push_back(float_of(value));
  return result;
}

/// Whole numbers from -size to size in a fixed order: exact in every type.
inline std::vector<float> numbers(std::size_t count, int size, unsigned seed) {
  std::vector<float> result;
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    result.push_back(static_cast<float>(static_cast<int>(state >> 16) % (2 * size + 1) - size));
  }
  return result;
}

/// A descriptor of memory that others own.
class Described {
 public:
  Described(void* base, aclDataType type, const std::vector<std::int64_t>& shape,
            const std::vector<std::int64_t>& strides, std::int64_t offset,
            const std::vector<std::int64_t>& storage, aclFormat format = ACL_FORMAT_ND)
      : tensor_(aclCreateTensor(shape.data(), shape.size(), type,
                                strides.empty() ? nullptr : strides.data(), offset, format,
                                storage.data(), storage.size(), base)) {}
  ~Described() { aclDestroyTensor(tensor_); }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  aclTensor* get() const { return tensor_; }

 private:
  aclTensor* tensor_;
};

/// A list of descriptors, which it owns.
class List {
 public:
  explicit List(const std::vector<aclTensor*>& members)
      : list_(aclCreateTensorList(members.data(), members.size())) {}
  ~List() { aclDestroyTensorList(list_); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  aclTensorList* get() const { return list_; }

 private:
  aclTensorList* list_;
};

/// A descriptor for a list.
inline aclTensor* member(void* base, aclDataType type, const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& strides = {}) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return aclCreateTensor(shape.data(), shape.size(), type,
                         strides.empty() ? nullptr : strides.data(), 0, ACL_FORMAT_ND, &elements, 1,
                         base);
}

/// A function of the split layout, next to the library that ASCEND_TWIN_9_0_PATH names.
inline void* newer_function(const std::string& library, const std::string& name) {
  std::string path = ASCEND_TWIN_9_0_PATH;
  path.replace(path.rfind('/') + 1, std::string::npos, library);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : dlsym(handle, name.c_str());
}
/// Both phases of such a function; -1 if it is not there.
template <class First, class Second, class... Arguments>
aclError run_newer(First first, Second second, Arguments... arguments) {
  return first == nullptr || second == nullptr ? -1 : run(first, second, arguments...);
}
/// RUN_NEWER("libopapi_nn.so", MatmulWeightNz, self, mat2, out, type)
#define RUN_NEWER(library, name, ...)                                                \
  ::ascend_test::run_newer(                                                          \
      reinterpret_cast<decltype(&aclnn##name##GetWorkspaceSize)>(                    \
          ::ascend_test::newer_function(library, "aclnn" #name "GetWorkspaceSize")), \
      reinterpret_cast<decltype(&aclnn##name)>(                                      \
          ::ascend_test::newer_function(library, "aclnn" #name)),                    \
      __VA_ARGS__)

/// [m][k] times [k][n] in double.
inline std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b,
                                  std::size_t m, std::size_t k, std::size_t n) {
  std::vector<float> result(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l)
        sum += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
      result[i * n + j] = static_cast<float>(sum);
    }
  }
  return result;
}

/// [rows][columns] to [columns][rows].
template <class Value>
std::vector<Value> turned(const std::vector<Value>& values, std::size_t rows, std::size_t columns) {
  std::vector<Value> result(values.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = values[i * columns + j];
  }
  return result;
}

/// The first phase alone.
template <class First, class... Arguments>
aclError first_phase(First first, std::uint64_t* bytes, Arguments... arguments) {
  aclOpExecutor* executor = nullptr;
  const auto code = first(arguments..., bytes, &executor);
  if (code == ACL_SUCCESS) aclDestroyAclOpExecutor(executor);
  return code;
}

}  // namespace ascend_test
