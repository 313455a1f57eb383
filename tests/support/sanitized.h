// Whether this build has AddressSanitizer or ThreadSanitizer. They make code several times as slow,
// so some tests repeat less then. Tests on s390x do, too: CI runs them under an emulator.
#pragma once

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

}  // namespace shunt::test
