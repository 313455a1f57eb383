#include "support/tensor_io.h"

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

namespace shunt::test {

const RefTensor& kept_values(DType type, const Sizes& sizes, std::uint64_t seed) {
  static std::map<std::tuple<DType, Sizes, std::uint64_t>, RefTensor> kept;
  RefTensor& values = kept[{type, sizes, seed}];
  if (values.data.empty()) values = make_values({.dtype = type, .sizes = sizes}, seed);
  return values;
}

namespace {

std::vector<std::byte> written(const RefTensor& values, const Tensor& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(tensor)));
  write_tensor(values, tensor, bytes.data());
  return bytes;
}

/// The values with everything else that the bytes depend on, as a key.
std::string key_of(const RefTensor& values, const Tensor& tensor) {
  const auto raw = [](const auto& items) {
    return std::string_view(reinterpret_cast<const char*>(items.data()),
                            items.size() * sizeof(items[0]));
  };
  const Sizes shape = max_sizes(tensor.shape);
  return std::to_string(static_cast<int>(tensor.dtype)) + ' ' + std::string(raw(shape)) +
         std::string(raw(tensor.strides)) + std::string(raw(values.sizes)) +
         std::string(raw(values.data));
}

}  // namespace

std::vector<std::byte> tensor_bytes(const RefTensor& values, const Tensor& tensor) {
  if (!trait(tensor.dtype).quantized) return written(values, tensor);
  constexpr std::size_t kMostKept = std::size_t{64} << 20;
  static std::mutex mutex;
  static std::map<std::string, std::vector<std::byte>> kept;
  static std::size_t kept_bytes = 0;
  std::string key = key_of(values, tensor);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = kept.find(key); found != kept.end()) return found->second;
  }
  std::vector<std::byte> bytes = written(values, tensor);
  if (key.size() + bytes.size() > kMostKept) return bytes;
  const std::lock_guard lock(mutex);
  kept_bytes += key.size() + bytes.size();
  if (kept_bytes > kMostKept) {
    kept.clear();
    kept_bytes = key.size() + bytes.size();
  }
  kept[std::move(key)] = bytes;
  return bytes;
}

}  // namespace shunt::test
