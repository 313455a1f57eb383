// The twin for tests: a device, memory, tensors and both phases of an operator in one line each.
#pragma once

#include <acl/acl.h>
#include <ascend_twin.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace ascend_test {

/// The twin as it is at first, initialised, device 0 current; and dropped after the test.
class TwinTest : public testing::Test {
 protected:
  TwinTest() { restart({}); }
  ~TwinTest() override {
    ascend_twin_reset();
    ascend_twin_reset_settings();
  }
  /// Anew, with these settings ("PROFILE", "310p").
  static void restart(const std::vector<std::pair<std::string, std::string>>& settings) {
    ascend_twin_reset();
    ascend_twin_reset_settings();
    for (const auto& [name, value] : settings) set(name, value);
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  }
  static void set(const std::string& name, const std::string& value) {
    ASSERT_TRUE(ascend_twin_set(("ASCEND_TWIN_" + name).c_str(), value.c_str()))
        << name << "=" << value;
  }
};

/// Device memory that lives as long as this.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(aclrtMalloc(&address_, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  ~Buffer() { aclrtFree(address_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <class Value>
  void put(const std::vector<Value>& values) {
    EXPECT_EQ(aclrtMemcpy(address_, bytes_, values.data(), values.size() * sizeof(Value),
                          ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
  }
  template <class Value>
  std::vector<Value> get() const {
    std::vector<Value> values(bytes_ / sizeof(Value));
    EXPECT_EQ(aclrtMemcpy(values.data(), bytes_, address_, values.size() * sizeof(Value),
                          ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return values;
  }
  void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_;
};

/// A contiguous tensor of its own memory; `tensor` is destroyed with it.
template <class Value>
class Tensor {
 public:
  Tensor(aclDataType type, const std::vector<std::int64_t>& shape, const std::vector<Value>& values)
      : buffer_(values.size() * sizeof(Value)), shape_(shape) {
    buffer_.put(values);
    tensor_ = aclCreateTensor(shape_.data(), shape_.size(), type, nullptr, 0, ACL_FORMAT_ND,
                              shape_.data(), shape_.size(), buffer_.address());
  }
  ~Tensor() { aclDestroyTensor(tensor_); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  aclTensor* get() const { return tensor_; }
  std::vector<Value> values() const { return buffer_.get<Value>(); }
  void* address() const { return buffer_.address(); }

 private:
  Buffer buffer_;
  std::vector<std::int64_t> shape_;
  aclTensor* tensor_ = nullptr;
};

/// A scalar of an operator. A number alone becomes a float, so that tests are short.
class Scalar {
 public:
  Scalar(float value) : Scalar(ACL_FLOAT, value) {}
  template <class Value>
  Scalar(aclDataType type, Value value) : scalar_(aclCreateScalar(&value, type)) {}
  ~Scalar() { aclDestroyScalar(scalar_); }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;
  aclScalar* get() const { return scalar_; }

 private:
  aclScalar* scalar_;
};

/// An array of whole numbers, such as axes or lengths.
class Integers {
 public:
  explicit Integers(const std::vector<std::int64_t>& values)
      : array_(aclCreateIntArray(values.data(), values.size())) {}
  Integers(std::initializer_list<std::int64_t> values)
      : Integers(std::vector<std::int64_t>(values)) {}
  ~Integers() { aclDestroyIntArray(array_); }
  Integers(const Integers&) = delete;
  Integers& operator=(const Integers&) = delete;
  aclIntArray* get() const { return array_; }

 private:
  aclIntArray* array_;
};

/// Both phases on the default stream, and a wait. The first code that is not 0.
template <class Second, class First, class... Arguments>
aclError run(First first, Second second, Arguments... arguments) {
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (const auto code = first(arguments..., &bytes, &executor)) return code;
  void* workspace = nullptr;
  if (bytes != 0) {
    if (const auto code = aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST)) return code;
  }
  const auto code = second(workspace, bytes, executor, nullptr);
  const auto late = aclrtSynchronizeStream(nullptr);
  if (workspace != nullptr) aclrtFree(workspace);
  return code != ACL_SUCCESS ? code : late;
}
/// RUN_OP(Add, self, other, alpha, out)
#define RUN_OP(name, ...) \
  ::ascend_test::run(aclnn##name##GetWorkspaceSize, aclnn##name, __VA_ARGS__)

}  // namespace ascend_test
