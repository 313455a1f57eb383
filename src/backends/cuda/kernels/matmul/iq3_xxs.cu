#include "backends/cuda/gpu/formats/iq3_xxs.h"
#include "backends/cuda/kernels/matmul/tiles.h"

MATMUL(IQ3_XXS, BlockWeights)
