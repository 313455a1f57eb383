// Elements that are only moved, as words of 1, 2, 4 or 8 bytes.
#pragma once

#include "backends/cuda/gpu/dialect.h"

// Instances of a kernel: M(BYTES, T) for each size of a word.
#define FOR_WORDS(M) M(1, u8) M(2, u16) M(4, u32) M(8, u64)
