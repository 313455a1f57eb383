// A kernel of one pointer, for tests of loads, stores, copies and their counts.
#pragma once

#include <numeric>

#include "support.h"

namespace memory_test {

using twin_test::Buffer;
using twin_test::Dim;
using twin_test::Gpu;
using twin_test::launch;
using twin_test::module;

/// A kernel of one pointer parameter p (%rd0) with %r0 = %tid.x and %rd1 = p + 4 * %tid.x.
inline std::string kernel(const std::string& body, const std::string& before = "") {
  return module(before + R"(
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<16>;
  .reg .b32 %r<16>;
  .reg .b16 %h<8>;
  .reg .f32 %f<8>;
  .reg .f64 %fd<4>;
  .reg .pred %p<4>;
  ld.param.u64 %rd0, [p];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %rd1, %r0, 4, %rd0;
)" + body + R"(
  ret;
}
)");
}

template <class T>
CUresult run(const std::string& body, Buffer<T>& buffer, unsigned threads = 32,
             const std::string& before = "") {
  std::string log;
  const CUresult code =
      launch(kernel(body, before), "k", Dim(1), Dim(threads), {&buffer.address}, 0, &log);
  EXPECT_EQ(log, "");
  return code;
}

inline std::vector<std::uint32_t> counting(std::size_t n, std::uint32_t first = 0) {
  std::vector<std::uint32_t> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace memory_test
