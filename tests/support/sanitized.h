// Whether this build has AddressSanitizer or ThreadSanitizer. They make code several times as slow,
// so some tests repeat less then. Tests on s390x do, too: CI runs them under an emulator.
#pragma once

#include <cstddef>
#include <vector>

namespace shunt::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

#if defined(__s390x__)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

/// How often a test repeats: a fifth of `count` where code is slow.
constexpr int repetitions(int count) {
  return kSanitized || kEmulated ? count / 5 : count;
}

/// Values of a test's parameter: with sanitizers each `n`-th, the first among them.
template <class Range>
auto every(std::size_t n, const Range& all) {
  std::vector<typename Range::value_type> some;
  for (std::size_t i = 0; i < all.size(); i += kSanitized ? n : 1) some.push_back(all[i]);
  return some;
}

}  // namespace shunt::test
