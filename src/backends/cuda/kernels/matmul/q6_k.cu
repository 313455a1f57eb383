#include "backends/cuda/gpu/formats/q6_k.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q6_K, BlockWeights)
