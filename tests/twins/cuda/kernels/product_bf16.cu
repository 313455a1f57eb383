#include "product.h"

KERNEL void product_bf16(const u16* a, const u16* b, float* c, u32 n, u32 k) {
  product<Bf16>(a, b, c, n, k);
}
