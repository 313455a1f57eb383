#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "gguf/file_writer.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt::gguf {

void Writer::add(std::string key, Value value) {
  metadata_.push_back({std::move(key), std::move(value)});
}
void Writer::add_string(std::string key, std::string value) {
  add(std::move(key), {ValueType::kString, std::move(value)});
}
void Writer::add_u32(std::string key, std::uint32_t value) {
  add(std::move(key), {ValueType::kU32, std::uint64_t{value}});
}
void Writer::add_f32(std::string key, float value) {
  add(std::move(key), {ValueType::kF32, double{value}});
}
void Writer::add_bool(std::string key, bool value) {
  add(std::move(key), {ValueType::kBool, value});
}
void Writer::add_array(std::string key, Array value) {
  add(std::move(key), {ValueType::kArray, std::make_shared<const Array>(std::move(value))});
}

Status Writer::add_tensor(std::string name, const Tensor& tensor) {
  SHUNT_TRY(check_writable(name, tensor));
  const auto bytes = static_cast<std::uint64_t>(byte_span(tensor));
  tensors_.push_back({std::move(name), tensor, 0, bytes, 0});
  return ok();
}

Status Writer::write(const std::string& path, const Data& data, std::uint32_t alignment) const {
  const auto whole = [&](std::size_t index, const Sink& sink) -> Status {
    SHUNT_ASSIGN(const std::span<const std::byte> bytes, data(index));
    return sink(bytes);
  };
  return write_pieces(path, whole, alignment);
}

Result<std::vector<std::byte>> Writer::header() const {
  SHUNT_ASSIGN(const HeaderBytes made, header_of({.metadata = metadata_, .tensors = tensors_}));
  const auto bytes = made.bytes();
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Status Writer::write_pieces(const std::string& path, const Pieces& pieces,
                            std::uint32_t alignment) const {
  const auto checked = [&]() -> Status {
    SHUNT_ASSIGN(OutputFile file, write_content(path, {metadata_, tensors_, alignment}, pieces));
    return file.commit();
  };
  return guarded(checked, path);
}

}  // namespace shunt::gguf
