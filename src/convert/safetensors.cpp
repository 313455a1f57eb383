#include "convert/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/file.h"
#include "base/guarded.h"
#include "base/to_size.h"
#include "convert/json_text.h"
#include "shunt/gguf.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMostDims = 8;
constexpr std::string_view kMetadata = "__metadata__";

/// Reads one entry of the header.
class EntryReader {
 public:
  EntryReader(const std::string& file, const std::string& name, const nlohmann::json& entry)
      : place_(fmt::format("{}: tensor {}", file, gguf::printable(name))), entry_(entry) {
    tensor_.name = name;
  }

  Result<StoredTensor> read(std::span<const std::byte> data) {
    if (!entry_.is_object()) return bad("has {}; an object is expected", describe_json(entry_));
    SHUNT_TRY(read_type());
    SHUNT_TRY(read_shape());
    SHUNT_TRY(read_bytes(data));
    return std::move(tensor_);
  }

 private:
  template <class... Args>
  Error bad(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kBadFile, "{} {}", place_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  Result<const nlohmann::json*> member(const char* name) const {
    const auto found = entry_.find(name);
    if (found == entry_.end()) return bad("has no \"{}\"", name);
    return &*found;
  }

  /// Numbers from 0 to 2^63 - 1.
  Result<std::vector<std::int64_t>> numbers(const char* name, std::size_t most) const {
    SHUNT_ASSIGN(const nlohmann::json* const list, member(name));
    if (!list->is_array() || list->size() > most)
      return bad("has \"{}\" {}; an array of at most {} numbers is expected", name,
                 describe_json(*list), most);
    std::vector<std::int64_t> result;
    for (const nlohmann::json& number : *list) {
      if (!number.is_number_unsigned() ||
          number.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxSize)) {
        return bad("has {} in \"{}\"; a whole number of at most 63 bits is expected",
                   describe_json(number), name);
      }
      result.push_back(number.get<std::int64_t>());
    }
    return result;
  }

  Status read_type() {
    SHUNT_ASSIGN(const nlohmann::json* const name, member("dtype"));
    if (!name->is_string()) return bad("has dtype {}; a text is expected", describe_json(*name));
    const StoredTypeFacts* const facts = find_stored_type(name->get_ref<const std::string&>());
    if (facts == nullptr) {
      return fail(ErrorCode::kUnsupported, "{} has elements of type {}, which Shunt does not know",
                  place_, describe_json(*name));
    }
    tensor_.type = facts->type;
    return ok();
  }

  Status read_shape() {
    SHUNT_ASSIGN(tensor_.shape, numbers("shape", kMostDims));
    bytes_ = static_cast<std::int64_t>(facts_of(tensor_.type).bytes);
    for (const std::int64_t size : tensor_.shape) {
      if (!multiply_into(&bytes_, size))
        return bad("is {}; its bytes have more than 63 bits", to_string(tensor_));
    }
    return ok();
  }

  Status read_bytes(std::span<const std::byte> data) {
    SHUNT_ASSIGN(const auto ends, numbers("data_offsets", 2));
    if (ends.size() != 2 || ends[0] > ends[1] || to_size(ends[1]) > data.size()) {
      return bad("has data_offsets [{}]; two ascending ones of at most {} are expected",
                 fmt::join(ends, ", "), data.size());
    }
    if (ends[1] - ends[0] != bytes_) {
      return bad("has {} bytes of data; {} takes {}", ends[1] - ends[0], to_string(tensor_),
                 bytes_);
    }
    tensor_.bytes = data.subspan(to_size(ends[0]), to_size(bytes_));
    return ok();
  }

  std::string place_;
  const nlohmann::json& entry_;
  StoredTensor tensor_;
  std::int64_t bytes_ = 0;
};

/// The data of tensors follow each other, without gaps, up to the end of the file.
Status check_coverage(const std::string& path, std::span<const StoredTensor> sorted,
                      std::span<const std::byte> data) {
  std::size_t end = 0;
  const StoredTensor* before = nullptr;
  for (const StoredTensor& tensor : sorted) {
    const auto start = to_size(tensor.bytes.data() - data.data());
    if (start < end) {
      return fail(ErrorCode::kBadFile, "{}: tensor {} starts at {} of the data, within tensor {}",
                  path, gguf::printable(tensor.name), start, gguf::printable(before->name));
    }
    if (start > end) {
      return fail(ErrorCode::kBadFile,
                  "{}: bytes {} to {} of the data belong to no tensor; tensor {} should start at "
                  "the first",
                  path, end, start, gguf::printable(tensor.name));
    }
    end = start + tensor.bytes.size();
    before = &tensor;
  }
  if (end == data.size()) return ok();
  return fail(ErrorCode::kBadFile, "{}: the header describes {} bytes of data; the file has {}",
              path, end, data.size());
}

Result<std::vector<StoredTensor>> parse_tensors(std::span<const std::byte> bytes,
                                                const std::string& path) {
  if (bytes.size() < kLengthBytes) {
    return fail(ErrorCode::kBadFile, "{}: {} bytes; a safetensors file has at least {}", path,
                bytes.size(), kLengthBytes);
  }
  const auto length = load_little<std::uint64_t>(bytes.data());
  bytes = bytes.subspan(kLengthBytes);
  if (length > kMostHeaderBytes || length > bytes.size()) {
    return fail(ErrorCode::kBadFile,
                "{}: the header has {} bytes by the file's first 8; at most {} are expected", path,
                length, std::min<std::uint64_t>(kMostHeaderBytes, bytes.size()));
  }
  const auto header = bytes.first(to_size(length));
  const auto data = bytes.subspan(to_size(length));
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  SHUNT_ASSIGN(const nlohmann::json entries, parse_json(text, path + ": header"));
  if (!entries.is_object()) {
    return fail(ErrorCode::kBadFile, "{}: the header is {}; an object is expected", path,
                describe_json(entries));
  }
  std::vector<StoredTensor> tensors;
  for (const auto& [name, entry] : entries.items()) {
    if (name == kMetadata) continue;
    SHUNT_ASSIGN(StoredTensor tensor, EntryReader(path, name, entry).read(data));
    tensors.push_back(std::move(tensor));
  }
  // Empty ones come before one that starts where they do.
  std::ranges::sort(tensors, {}, [](const StoredTensor& tensor) {
    return std::pair(tensor.bytes.data(), tensor.bytes.size());
  });
  SHUNT_TRY(check_coverage(path, tensors, data));
  return tensors;
}

}  // namespace

std::int64_t StoredTensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count = saturating_multiply(count, size);
  return count;
}

std::string to_string(const StoredTensor& tensor) {
  return fmt::format("{} [{}]", facts_of(tensor.type).name, fmt::join(tensor.shape, ", "));
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  SHUNT_ASSIGN(auto mapped, MappedFile::open(path));
  const auto file = std::make_shared<const MappedFile>(std::move(mapped));
  SHUNT_ASSIGN(SafetensorsFile result, parse(file->bytes(), path));
  result.mapping_ = file;
  return result;
}

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                               const std::string& name) {
  return guarded(
      [&]() -> Result<SafetensorsFile> {
        SafetensorsFile file;
        file.path_ = name;
        file.file_bytes_ = bytes.size();
        SHUNT_ASSIGN(file.tensors_, parse_tensors(bytes, name));
        return file;
      },
      name);
}

}  // namespace shunt
