// Whether a sanitizer checks this build. Checked code is several times as slow, so tests do less of
// the same then.
#pragma once

namespace shunt::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace shunt::test
