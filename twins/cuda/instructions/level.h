// The instruction files are compiled once for each vector level of the host (CMakeLists.txt): each
// in a namespace of its own, so that no level's code is taken for another's. Everything in such a
// file, and in the headers of this folder, is in the namespace cuda_twin::CUDA_TWIN_LEVEL.
// The objects of the lowest level come first in the link: inline functions of the standard library
// are theirs.
#pragma once

#ifndef CUDA_TWIN_LEVEL
#define CUDA_TWIN_LEVEL baseline
#endif
