// Rows sorted: a row a block. An element and its index make one key, so that no two are equal and
// the order of equal elements is kept. Chunks of a row are sorted in shared memory. Those of longer
// rows are merged in device memory, as many of each as the result has.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/sort.h"

using namespace shunt::cuda::gpu;

namespace {

constexpr u64 kLastKey = ~0ULL;

/// Keys ascend in the requested order. NaN comes last.
DEVICE u64 key_of(float value, i64 index, bool descending) {
  u32 bits = __builtin_bit_cast(u32, value);
  if (value == 0) bits = 0;  // of either sign
  bits ^= bits >> 31 != 0 ? 0xFFFFFFFFu : 0x80000000u;
  if (descending) bits = ~bits;
  if (value != value) bits = 0xFFFFFFFFu;
  return (u64)bits << 32 | (u64)index;
}
DEVICE i32 index_of(u64 key) {
  return (i32)(u32)key;
}

/// Sorts `count` keys, a power of two: bitonic.
DEVICE void sort_keys(u64* keys, i32 count) {
  for (i32 run = 2; run <= count; run *= 2) {
    for (i32 step = run / 2; step > 0; step /= 2) {
      for (i32 pair = (i32)thread(); pair < count / 2; pair += (i32)threads()) {
        const i32 low = pair / step * 2 * step + pair % step;
        const u64 a = keys[low], b = keys[low + step];
        const bool ascending = (low & run) == 0;
        if ((a > b) != ascending) continue;
        keys[low] = b;
        keys[low + step] = a;
      }
      barrier();
    }
  }
}

/// How many of `count` sorted keys are below a key.
DEVICE i64 count_below(const u64* keys, i64 count, u64 key) {
  i64 low = 0;
  while (low < count) {
    const i64 middle = (low + count) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

DEVICE i64 least(i64 a, i64 b) {
  return a < b ? a : b;
}

/// Merges pairs of runs, which begin `width` keys apart in n keys, and keeps the first `kept` of
/// each.
DEVICE void merge_runs(const u64* from, u64* to, i64 n, i64 width, i64 kept) {
  const i64 most = least(width, kept);
  const i64 runs = (n + width - 1) / width;
  for (i64 e = thread(); e < runs * most; e += threads()) {
    const i64 run = e / most, i = e % most, other = run ^ 1;
    if (i >= n - run * width) continue;
    const i64 others = other < runs ? least(most, n - other * width) : 0;
    const u64 key = from[run * width + i];
    const i64 place = i + count_below(from + other * width, others, key);
    if (place < kept) to[run / 2 * 2 * width + place] = key;
  }
}

template <class T>
DEVICE void sort_row(const SortArgs& p, const Tensor& x, const Tensor& y, RowIndex at, u64* runs) {
  SHARED u64 keys[kSortChunk];
  const i64 n = x.n[0], kept = y.n[0];
  const u8* row = row_at(x, at);
  u8* result = row_at(y, at);
  u64 *from = runs, *to = runs + p.capacity;
  const bool whole = n <= kSortChunk;
  for (i64 first = 0; first < n; first += kSortChunk) {
    const i32 count = (i32)least(kSortChunk, n - first);
    i32 size = 1;
    while (size < count) size *= 2;
    for (i32 i = (i32)thread(); i < size; i += (i32)threads()) {
      keys[i] = i < count
                    ? key_of(load<T>(row, first + i, x.stride[0]), first + i, p.descending != 0)
                    : kLastKey;
    }
    barrier();
    sort_keys(keys, size);
    for (i32 i = (i32)thread(); i < least(count, kept); i += (i32)threads()) {
      if (whole) {
        *(i32*)(result + i * y.stride[0]) = index_of(keys[i]);
      } else {
        from[first + i] = keys[i];
      }
    }
    barrier();
  }
  if (whole) return;
  for (i64 width = kSortChunk; width < n; width *= 2) {
    merge_runs(from, to, n, width, kept);
    barrier();
    u64* const merged = to;
    to = from;
    from = merged;
  }
  for (i64 i = thread(); i < kept; i += threads())
    *(i32*)(result + i * y.stride[0]) = index_of(from[i]);
  barrier();
}

template <class T>
DEVICE void compute(const SortArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run);
  const i64 rows = count_rows(x);
  if (block() >= rows) return;
  const Tensor y = tensor_of(p.y, run);
  for (i64 slot = block(); slot < p.slots; slot += blocks()) {
    u64* const runs = p.runs + slot * 2 * p.capacity;
    for (i64 row = slot; row < rows; row += p.slots) sort_row<T>(p, x, y, row_index(x, row), runs);
  }
}

}  // namespace

#define SORT(T)                      \
  KERNEL void sort_##T(SortArgs p) { \
    compute<T>(p);                   \
  }
FOR_SINGLE_TYPES(SORT)
