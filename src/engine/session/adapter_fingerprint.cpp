#include "engine/session/adapter_fingerprint.h"

#include <bit>

#include "engine/session/model_fingerprint.h"
#include "engine/session/sequence_adapters.h"
#include "engine/session/xxh64.h"
#include "gguf/header_bytes.h"

namespace shunt {

Result<std::uint64_t> adapter_fingerprint(std::uint64_t model, std::span<const AdapterFile> files,
                                          std::span<const AdapterUse> uses) {
  const std::map<std::size_t, float> sums = adapter_sums(uses);
  if (sums.empty()) return model;
  gguf::HeaderBytes bytes;
  bytes.put_u64(model);
  for (const auto& [index, scale] : sums) {
    SHUNT_ASSIGN(const std::uint64_t tensors, model_fingerprint(files[index].file));
    bytes.put_u64(tensors);
    bytes.put_u64(std::bit_cast<std::uint64_t>(files[index].info.alpha));
    bytes.put_u32(std::bit_cast<std::uint32_t>(scale));
  }
  Xxh64 hash;
  hash.add(bytes.bytes());
  return hash.value();
}

}  // namespace shunt
