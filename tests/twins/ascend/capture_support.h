// Streams, executors and captures for the tests of captures and strict mode.
#pragma once

#include <dlfcn.h>

#include "support.h"

namespace ascend_test {

/// A function that only the newer layout exports.
template <class Function>
Function* newer(const char* name) {
  static void* const library = dlopen(ASCEND_TWIN_9_0_PATH, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<Function*>(dlsym(library, name));
}
/// NEWER(aclmdlRIExecute)(model, -1)
#define NEWER(name) ::ascend_test::newer<decltype(name)>(#name)

/// A stream of the current context.
class OwnStream {
 public:
  OwnStream() { EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS); }
  ~OwnStream() { aclrtDestroyStream(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  aclrtStream get() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

/// self + alpha * other into self, which is queued or captured.
inline aclError add_to(aclTensor* self, aclTensor* other, float alpha, aclrtStream stream,
                       aclTensor* out = nullptr) {
  aclScalar* const scalar = aclCreateScalar(&alpha, ACL_FLOAT);
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  aclError code =
      aclnnAddGetWorkspaceSize(self, other, scalar, out == nullptr ? self : out, &bytes, &executor);
  if (code == ACL_SUCCESS) code = aclnnAdd(nullptr, 0, executor, stream);
  aclDestroyScalar(scalar);
  return code;
}

inline aclError sync(aclrtStream stream) {
  return aclrtSynchronizeStream(stream);
}

/// Whether the last objection has these words.
inline testing::AssertionResult objected_to(const std::string& words) {
  const std::string said = ascend_twin_last_objection();
  if (said.find(words) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the last objection is \"" << said << "\"";
}

/// A model of what `submit` does on the stream.
template <class Submit>
aclmdlRI capture_of(aclrtStream stream, Submit submit) {
  aclmdlRI model = nullptr;
  EXPECT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  submit();
  EXPECT_EQ(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS) << ascend_twin_last_message();
  return model;
}

}  // namespace ascend_test
