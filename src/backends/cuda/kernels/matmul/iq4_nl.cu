#include "backends/cuda/gpu/formats/iq4_nl.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ4_NL, BlockWeights)
