#include "device.h"

KERNEL void histogram_global(const u8* __restrict x, u32* counts, u32 n) {
  for (u32 i = place(); i < n; i += blocks() * threads())
    __nvvm_atom_add_gen_i((int*)counts + x[i], 1);
}

/// A table in shared memory for each block, added to the global one at the end.
KERNEL void histogram_shared(const u8* __restrict x, u32* counts, u32 n) {
  SHARED static u32 table[256];
  for (u32 i = thread(); i < 256; i += threads()) table[i] = 0;
  barrier();
  for (u32 i = place(); i < n; i += blocks() * threads())
    __nvvm_atom_add_gen_i((int*)table + x[i], 1);
  barrier();
  for (u32 i = thread(); i < 256; i += threads()) {
    if (table[i] != 0) __nvvm_atom_add_gen_i((int*)counts + i, (int)table[i]);
  }
}
