// Turns a little-endian GGUF image into a big-endian one, as a program on a big-endian machine
// would have written it. Knows nothing of the reader, nor of the traits of the formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::test {

/// Swaps all numbers of an image: those of the header, and those of the tensors' data. `magic`: the
/// first bytes of the result. Throws if the image is not right, or has a type that is not known
/// here.
std::vector<std::byte> to_big_endian(std::span<const std::byte> image,
                                     std::string_view magic = "GGUF");

/// Leaves a little-endian file in the machine's own order: that of weights which can be used in the
/// file.
void to_native_order(const std::string& path);

/// Swaps the numbers of whole blocks of a type, by its GGUF number.
void swap_blocks(std::uint32_t type, std::span<std::byte> data);

}  // namespace shunt::test
