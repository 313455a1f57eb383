#include "backends/cuda/gpu/formats/iq2_s.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ2_S, BlockWeights)
