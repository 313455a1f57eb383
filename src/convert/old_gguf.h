// GGUF files in forms that converters wrote in 2023 and 2024. The same model in today's form: the
// experts of a layer are one tensor, and latent attention has attn_k_b and attn_v_b.
#pragma once

#include <string>
#include <vector>

#include "model/quantize_source.h"
#include "shunt/gguf.h"

namespace shunt {

/// A file in today's form, without its data, and where the rows of its tensors come from.
struct RenewedGguf {
  gguf::File file;
  TensorRows rows;  ///< keeps the old file mapped
  std::vector<std::string> notes;
};

/// Invalid for a file in today's form. BadFile, naming the tensor, if experts are missing or
/// differ, or if shapes contradict the keys.
Result<RenewedGguf> renew_gguf(const gguf::File& file);

}  // namespace shunt
