#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(F16, PlainWeights)
