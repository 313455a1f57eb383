#include "backends/cuda/gpu/formats/q4_k.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q4_K, BlockWeights)
