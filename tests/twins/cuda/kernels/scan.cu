// Inclusive sums of 256 numbers a block.
#include "device.h"

DEVICE i32 warp_scan(i32 v) {
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const i32 below = shuffle_up(v, distance);
    if (lane() >= distance) v += below;
  }
  return v;
}

KERNEL void scan(const i32* __restrict x, i32* y, u32 n) {
  SHARED static i32 totals[8];
  const i32 sum = warp_scan(place() < n ? x[place()] : 0);
  if (lane() == 31) totals[warp()] = sum;
  barrier();
  if (warp() == 0) {
    const i32 total = warp_scan(lane() < 8 ? totals[lane()] : 0);
    if (lane() < 8) totals[lane()] = total;
  }
  barrier();
  if (place() < n) y[place()] = sum + (warp() > 0 ? totals[warp() - 1] : 0);
}
