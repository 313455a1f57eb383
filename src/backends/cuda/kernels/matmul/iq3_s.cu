#include "backends/cuda/gpu/formats/iq3_s.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ3_S, BlockWeights)
