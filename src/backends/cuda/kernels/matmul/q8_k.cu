#include "backends/cuda/gpu/formats/q8_k.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q8_K, BlockWeights)
