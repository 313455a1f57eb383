// The levels of vector code in this build, and a limit on the one that is used.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace shunt::cpu::simd {

/// Levels this machine can run, best first: "amx", "avx3_dl", "avx3", "avx2_vnni", "avx2", "sse4",
/// "scalar" on x86-64; "neon", "scalar" on aarch64; "scalar" elsewhere.
std::vector<std::string_view> levels();
/// The level in use.
std::string_view level();
/// A number of the level in use, which is cheap to ask for: as long as it is the same, so is that.
std::size_t level_number();
/// Whether the level in use is "amx": vector code is that of "avx3_dl", and there are tiles.
bool amx_in_use();
/// Whether the level in use is "avx2_vnni". Highway has no such target: what it chooses then is
/// AVX2.
bool avx2_vnni_in_use();
/// Whether code of the level of that name may be used: the machine has it, and no limit is below.
bool allows_level(std::string_view name);
/// Uses no level above `name`, or the best there is if `name` is empty. False if this machine has
/// no level of that name; then nothing changes. It holds for the whole process (Highway's
/// choice is): call it before kernels run, not while they do.
bool limit_level(std::string_view name);

}  // namespace shunt::cpu::simd
