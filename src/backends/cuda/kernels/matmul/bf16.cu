#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(BF16, PlainWeights)
