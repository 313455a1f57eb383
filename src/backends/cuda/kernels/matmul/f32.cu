#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(F32, PlainWeights)
