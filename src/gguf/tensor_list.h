// Reads the list of tensors, and checks that each one's data are where the list says, aligned and
// its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gguf/reader.h"
#include "shunt/gguf.h"

namespace shunt::gguf {

/// The fewest bytes of an entry: length of the name, one byte of it, number of dimensions, one of
/// them, type, offset.
inline constexpr std::size_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

/// A tensor, and where the list has it.
struct ListedTensor {
  TensorInfo info;
  std::uint64_t index = 0;   ///< in the file's list
  std::size_t position = 0;  ///< of the entry, in the file
};

/// `count` entries with different names. Those of types this build lacks are left out if only
/// metadata is read.
Result<std::vector<ListedTensor>> read_tensor_list(Reader& reader, std::uint64_t count,
                                                   const ReadOptions& options);

/// The range that tensors' data must be in.
struct DataRange {
  std::uint64_t start = 0;  ///< in the file
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 0;
};

/// That all data are within the range, are aligned and don't overlap. `count` is that of the file's
/// list.
Status check_data(std::span<const ListedTensor> tensors, std::uint64_t count,
                  const DataRange& range);

}  // namespace shunt::gguf
