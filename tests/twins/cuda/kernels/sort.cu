// Bitonic sort of 512 numbers a block, in place.
#include "device.h"

KERNEL void bitonic_sort(i32* x) {
  SHARED static i32 values[512];
  x += block() * 512;
  values[thread()] = x[thread()];
  values[thread() + 256] = x[thread() + 256];
#pragma unroll 1
  for (u32 size = 2; size <= 512; size *= 2) {
#pragma unroll 1
    for (u32 distance = size / 2; distance > 0; distance /= 2) {
      barrier();
      const u32 at = 2 * thread() - (thread() & (distance - 1));
      const i32 a = values[at], b = values[at + distance];
      const bool up = (at & size) == 0;
      if ((a > b) == up) {
        values[at] = b;
        values[at + distance] = a;
      }
    }
  }
  barrier();
  x[thread()] = values[thread()];
  x[thread() + 256] = values[thread() + 256];
}
