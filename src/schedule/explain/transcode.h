// Converts a weight to another type while it is loaded.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <span>

#include "shunt/device.h"
#include "shunt/explain.h"

namespace shunt {

/// Writes bytes to where a weight goes; empty: Buffer::write().
using WeightWriter = std::function<Status(Address to, std::span<const std::byte> from)>;

/// Decodes whole rows of `from`, in this byte order (a file's, or order_in_memory()), and writes
/// them as `to`, piece by piece; rows must be whole blocks of both. `done` gets bytes of `from` as
/// they come. Returns the error of transcoding.
Result<TranscodeError> transcode(std::span<const std::byte> bytes, DType from, std::endian order,
                                 Address address, DType to,
                                 const std::function<void(std::uint64_t)>& done,
                                 const WeightWriter& write = {});

}  // namespace shunt
