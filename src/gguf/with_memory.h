// A file with further bytes that are in memory only.
#pragma once

#include <cstddef>
#include <span>

#include "shunt/gguf.h"

namespace shunt::gguf {

/// The same file with one part more, whose data are `bytes`. They must outlive it. No tensor of the
/// file is in that part: the caller describes those (TensorInfo::part is file.part_count()), and
/// their data() are found. Its mapping() is null. Descriptions of the first file stay valid for the
/// second one, but point into the first.
File with_memory(const File& file, std::span<const std::byte> bytes);

}  // namespace shunt::gguf
