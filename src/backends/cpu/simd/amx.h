// Whether the machine has AMX (tiles and products of BF16), and this process may use it.
#pragma once

namespace shunt::cpu::simd {

/// Asks the system once for leave to use tiles: it is this process's from then on, for all threads.
/// (A signal stack of a thread's own must then have room for them, 8 KiB more.) False where the
/// machine or the system has none.
bool has_amx();
/// And products of bytes.
bool has_amx_int8();

}  // namespace shunt::cpu::simd
