#include "device.h"

KERNEL void transpose(const float* __restrict x, float* y, u32 rows, u32 columns) {
  SHARED static float tile[32][33];
  const u32 column = thread() % 32;
  for (u32 row = thread() / 32; row < 32; row += threads() / 32) {
    tile[row][column] = x[(u64)(block_y() * 32 + row) * columns + block() * 32 + column];
  }
  barrier();
  for (u32 row = thread() / 32; row < 32; row += threads() / 32) {
    y[(u64)(block() * 32 + row) * rows + block_y() * 32 + column] = tile[column][row];
  }
}

KERNEL void copy_strided(const u8* from, u8* to, u32 width, u32 height, u64 from_pitch,
                         u64 to_pitch) {
  for (u32 i = place(); i < width * height; i += blocks() * threads()) {
    to[i / width * to_pitch + i % width] = from[i / width * from_pitch + i % width];
  }
}

struct alignas(16) Quad {
  float x, y, z, w;
};
KERNEL void gather(const Quad* __restrict table, const i32* __restrict rows, Quad* y, u32 quads) {
  const i32 row = rows[block()];
  for (u32 i = thread(); i < quads; i += threads()) {
    y[(u64)block() * quads + i] = row < 0 ? Quad{0, 0, 0, 0} : table[(u64)row * quads + i];
  }
}

extern SHARED u32 dynamic[];
/// The block's part backwards, through as much shared memory as the launch gives.
KERNEL void reverse_dynamic(const u32* __restrict x, u32* y) {
  dynamic[thread()] = x[place()];
  barrier();
  y[place()] = dynamic[threads() - 1 - thread()];
}
