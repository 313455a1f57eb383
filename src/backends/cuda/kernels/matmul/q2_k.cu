#include "backends/cuda/gpu/formats/q2_k.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(Q2_K, BlockWeights)
