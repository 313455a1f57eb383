// Which machine the twin is: the answer to the query function (NNPA-QAF) of each profile, and the
// library's view of it.
#pragma once

#include <cstdint>

#include "include/zdnn.h"

namespace zdnn_twin {

struct Machine {
  bool installed;
  std::uint32_t api_version;  // the newest zDNN version that it serves, 0x00MMmm00
  std::uint16_t data_types;   // masks count bits from the left
  std::uint32_t layouts;
  std::uint16_t conversions;  // of NNP-data-type-1
  std::uint32_t max_dim_idx_size;
  std::uint32_t max_for_dim[4];  // dim1 first; 0: max_dim_idx_size
  std::uint64_t max_tensor_size;
  bool formats[2];  // of parameter blocks
};

const Machine& machine();

bool function_installed(std::uint32_t code);
/// Whether the library may build parameter blocks of this format.
bool format_usable(int format);
std::uint32_t max_for_dim(int dim);  // 1 to 4, as the library's version knows it

/// The library's own version, 0x00MMmmpp: the one thing in which the two libraries differ besides
/// their symbols.
extern const std::uint32_t kLibraryVersion;
extern const char kLibraryVersionText[];

}  // namespace zdnn_twin
