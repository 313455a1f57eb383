#include "engine/session/model_fingerprint.h"

#include <algorithm>
#include <vector>

#include "engine/session/xxh64.h"
#include "gguf/header_bytes.h"

namespace shunt {

namespace {

/// Some bytes of a tensor as they are in a little-endian file.
void add_piece(const gguf::TensorInfo& info, std::span<const std::byte> bytes, Xxh64& hash) {
  const DType dtype = info.tensor.dtype;
  std::vector<std::byte> little(bytes.begin(), bytes.end());
  convert_byte_order(dtype, info.order, little);           // to that of memory,
  convert_byte_order(dtype, std::endian::little, little);  // and from there
  hash.add(little);
}

void add_sample(const gguf::TensorInfo& info, std::span<const std::byte> data, Xxh64& hash) {
  constexpr std::size_t kPiece = 256;
  const std::size_t block = trait(info.tensor.dtype).block_bytes;
  const std::size_t piece = std::max<std::size_t>(kPiece / block, 1) * block;
  if (data.size() <= 3 * piece) return add_piece(info, data, hash);
  add_piece(info, data.first(piece), hash);
  add_piece(info, data.subspan(data.size() / 2 / block * block, piece), hash);
  add_piece(info, data.last(piece), hash);
}

}  // namespace

Result<std::uint64_t> model_fingerprint(const gguf::File& file) {
  SHUNT_ASSIGN(const std::string architecture, file.get_string("general.architecture"));
  gguf::HeaderBytes description;
  description.put_string(architecture);
  for (const gguf::KeyValue& entry : file.metadata()) {
    if (entry.key.starts_with(architecture + ".") || entry.key.starts_with("tokenizer."))
      SHUNT_TRY(description.put_metadata(entry));
  }
  for (const gguf::TensorInfo& info : file.tensors()) {
    description.put_string(info.name);
    description.put_u32(static_cast<std::uint32_t>(info.tensor.dtype));
    for (const Dim& dim : info.tensor.shape)
      description.put_u64(static_cast<std::uint64_t>(dim.max));
  }
  Xxh64 hash;
  hash.add(description.bytes());
  for (const gguf::TensorInfo& info : file.tensors()) add_sample(info, file.data(info), hash);
  return hash.value();
}

}  // namespace shunt
