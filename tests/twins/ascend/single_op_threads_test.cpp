// Single operators from several threads, each with a stream of its own.
#include <thread>

#include "single_op_support.h"

namespace ascend_test::indexing {
namespace {

using SingleOpThreads = TwinTest;

/// A thread's own product of 1 x 1, again and again.
void multiply_in_own_stream(int factor, int* wrong) {
  aclrtStream stream = nullptr;
  if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) {
    ++*wrong;
    return;
  }
  {
    Tensor<float> x(ACL_FLOAT, {1}, {static_cast<float>(factor)});
    Tensor<float> out(ACL_FLOAT, {1}, {0});
    const Port in(ACL_FLOAT, {1, 1}, x);
    const Port result(ACL_FLOAT, {1, 1}, out);
    Ports inputs{&in, &in};
    Ports outputs{&result};
    for (int i = 0; i < 20; ++i) {
      const aclError code =
          aclopCompileAndExecuteV2("MatMulV2", 2, inputs.descriptions.data(), inputs.buffers.data(),
                                   1, outputs.descriptions.data(), outputs.buffers.data(), nullptr,
                                   ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, stream);
      const aclError late = aclrtSynchronizeStream(stream);
      const bool is_right = out.values()[0] == static_cast<float>(factor * factor);
      if (code != ACL_SUCCESS || late != ACL_SUCCESS || !is_right) ++*wrong;
      if (aclSetCompileopt(ACL_OP_JIT_COMPILE, "disable") != ACL_SUCCESS) ++*wrong;
    }
  }
  if (aclrtDestroyStream(stream) != ACL_SUCCESS) ++*wrong;
}

TEST_F(SingleOpThreads, CompileAndExecuteAtOnce) {
  int wrong[4] = {};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(multiply_in_own_stream, i + 2, &wrong[i]);
  }
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace ascend_test::indexing
