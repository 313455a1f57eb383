#include "support/gguf_bytes.h"

#include <stdlib.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace shunt::test {

Bytes& Bytes::number(std::uint64_t value, std::size_t bytes) {
  for (; bytes > 0; --bytes, value >>= 8) bytes_.push_back(static_cast<std::byte>(value & 0xff));
  return *this;
}

Bytes& Bytes::f32(float value) {
  return u32(std::bit_cast<std::uint32_t>(value));
}
Bytes& Bytes::f64(double value) {
  return u64(std::bit_cast<std::uint64_t>(value));
}

Bytes& Bytes::text(std::string_view characters) {
  for (const char c : characters) bytes_.push_back(static_cast<std::byte>(c));
  return *this;
}

Bytes& Bytes::string(std::string_view characters) {
  return u64(characters.size()).text(characters);
}

Bytes& Bytes::zeros(std::size_t count) {
  bytes_.resize(bytes_.size() + count);
  return *this;
}

Bytes& Bytes::pad(std::size_t alignment) {
  while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte{0});
  return *this;
}

Bytes& Bytes::append(const Bytes& other) {
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
  return *this;
}

Bytes gguf_entry(std::string_view key, std::uint32_t type, const Bytes& value) {
  return Bytes().string(key).u32(type).append(value);
}

Bytes gguf_array(std::uint32_t type, std::uint64_t count, const Bytes& elements) {
  return Bytes().u32(type).u64(count).append(elements);
}

Bytes gguf_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                  std::uint64_t offset) {
  Bytes bytes;
  bytes.string(name).u32(dims.size());
  for (const std::uint64_t dim : dims) bytes.u64(dim);
  return bytes.u32(type).u64(offset);
}

Bytes gguf_header(std::uint32_t version, std::uint64_t tensors, std::uint64_t entries) {
  return Bytes().text("GGUF").u32(version).u64(tensors).u64(entries);
}

Bytes gguf_file(const GgufParts& parts) {
  Bytes file = gguf_header(parts.version, parts.tensors.size(), parts.entries.size());
  for (const Bytes& entry : parts.entries) file.append(entry);
  for (const Bytes& tensor : parts.tensors) file.append(tensor);
  if (!parts.tensors.empty()) file.pad(parts.alignment);
  return file.append(parts.data);
}

Bytes gguf_sample() {
  GgufParts parts;
  parts.entries = {
      gguf_entry("general.name", kGgufString, Bytes().string("sample")),
      gguf_entry("x.u8", kGgufU8, Bytes().u8(200)),
      gguf_entry("x.i8", kGgufI8, Bytes().u8(0xfe)),
      gguf_entry("x.u16", kGgufU16, Bytes().u16(60000)),
      gguf_entry("x.i16", kGgufI16, Bytes().u16(0xfffd)),
      gguf_entry("x.u32", kGgufU32, Bytes().u32(4000000000)),
      gguf_entry("x.i32", kGgufI32, Bytes().u32(0xfffffffc)),
      gguf_entry("x.u64", kGgufU64, Bytes().u64(0xffffffffffffffff)),
      gguf_entry("x.i64", kGgufI64, Bytes().u64(0xfffffffffffffffb)),
      gguf_entry("x.f32", kGgufF32, Bytes().f32(0.1f)),
      gguf_entry("x.f64", kGgufF64, Bytes().f64(0.1)),
      gguf_entry("x.bool", kGgufBool, Bytes().u8(1)),
      gguf_entry(
          "x.strings", kGgufArray,
          gguf_array(kGgufString, 3, Bytes().string("a").string("").string("\xe2\x96\x81z"))),
      gguf_entry("x.i32s", kGgufArray, gguf_array(kGgufI32, 2, Bytes().u32(7).u32(0xffffffff))),
      gguf_entry("x.u64s", kGgufArray, gguf_array(kGgufU64, 1, Bytes().u64(0x7fffffffffffffff))),
      gguf_entry("x.f32s", kGgufArray, gguf_array(kGgufF32, 2, Bytes().f32(1.5f).f32(-2.0f))),
      gguf_entry("x.bools", kGgufArray, gguf_array(kGgufBool, 2, Bytes().u8(1).u8(0))),
      gguf_entry("x.empty", kGgufArray, gguf_array(kGgufU8, 0, Bytes())),
  };
  parts.tensors = {gguf_tensor("a", {4, 2}, 0, 0), gguf_tensor("b", {32}, 8, 32)};
  for (int i = 0; i < 8; ++i) parts.data.f32(static_cast<float>(i));
  parts.data.u16(0x3c00);  // b: d = 1, q = 0, 1, ..., 31
  for (std::uint64_t i = 0; i < 32; ++i) parts.data.u8(i);
  return gguf_file(parts);
}

TempFolder::TempFolder() {
  path_ = (std::filesystem::temp_directory_path() / "shunt-test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::write(std::string_view name, std::span<const std::byte> bytes) const {
  const std::string path = file(name);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
  return path;
}

std::vector<std::string> TempFolder::list() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace shunt::test
