// Whether this build has AddressSanitizer or ThreadSanitizer. They make code several times as slow,
// so some tests repeat less then.
#pragma once

namespace shunt::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace shunt::test
