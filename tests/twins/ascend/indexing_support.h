// Arrays, scalars and views for the tests of indices, shapes, windows and single operators.
#pragma once

#include <numeric>

#include "support.h"

namespace ascend_test::indexing {

inline Scalar real(float value) {
  return {ACL_FLOAT, value};
}
inline Scalar whole(std::int64_t value) {
  return {ACL_INT64, value};
}

/// Of memory that another object owns.
class Section {
 public:
  Section(aclDataType type, const std::vector<std::int64_t>& shape,
          const std::vector<std::int64_t>& strides, std::int64_t offset, std::int64_t storage,
          void* data, aclFormat format = ACL_FORMAT_ND)
      : tensor_(aclCreateTensor(shape.data(), shape.size(), type, strides.data(), offset, format,
                                &storage, 1, data)) {}
  ~Section() { aclDestroyTensor(tensor_); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  aclTensor* get() const { return tensor_; }

 private:
  aclTensor* tensor_;
};

/// first, first + 1, ...
template <class Value>
std::vector<Value> counted(std::size_t count, Value first = 0) {
  std::vector<Value> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

using Floats = std::vector<float>;
using Halves = std::vector<std::uint16_t>;
using Longs = std::vector<std::int64_t>;
using Ints = std::vector<std::int32_t>;

}  // namespace ascend_test::indexing
