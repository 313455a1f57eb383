// A weight on its way from the file into memory, in another type.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "shunt/device.h"
#include "shunt/explain.h"

namespace shunt {

/// Decodes whole rows of `from`, in the file's byte order, and writes them as `to`, piece by piece;
/// rows must be whole blocks of both. `done` gets bytes of the file as they come. What that cost.
Result<TranscodeError> transcode(std::span<const std::byte> bytes, DType from, Address address,
                                 DType to, const std::function<void(std::uint64_t)>& done);

}  // namespace shunt
