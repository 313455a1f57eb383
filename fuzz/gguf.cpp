// GGUF: any bytes are read or refused, and a file that was read can be used.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "shunt/gguf.h"

namespace {

using namespace shunt;

/// Ends the run as a finding if a required condition does not hold.
void require(bool condition) {
  if (!condition) std::abort();
}

/// Keeps the compiler from leaving out a read whose result is not used.
template <class T>
void use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

void use_metadata(const gguf::File& file) {
  for (const gguf::KeyValue& entry : file.metadata()) {
    require(file.find(entry.key) == &entry.value);
    use(gguf::to_string(entry.value.type));
    use(file.get_string(entry.key));
    use(file.get_integer(entry.key));
    use(file.get_number(entry.key));
    use(file.get_bool(entry.key));
    use(file.get_string_or(entry.key, "x"));
    use(file.get_integer_or(entry.key, 1));
    use(file.get_number_or(entry.key, 1));
    use(file.get_bool_or(entry.key, true));
    for (std::uint32_t type = 0; type < 14; ++type) {
      const auto array = file.get_array(entry.key, static_cast<gguf::ValueType>(type));
      if (array) use((*array)->size());
    }
  }
  require(!file.get_string("not there"));
}

void use_tensors(const gguf::File& file) {
  const std::span<const std::byte> whole = file.part_bytes(0);
  for (const gguf::TensorInfo& info : file.tensors()) {
    require(file.find_tensor(info.name) == &info);
    require(is_contiguous(info.tensor));
    use(to_string(info.tensor));
    const std::span<const std::byte> data = file.data(info);
    require(!data.empty() && data.size() == info.bytes);
    require(data.data() >= whole.data() &&
            data.data() + data.size() <= whole.data() + whole.size());
    use(data.front());
    use(data.back());
    std::vector<std::byte> turned(data.begin(), data.end());
    convert_byte_order(info.tensor.dtype, info.order, turned);
    convert_byte_order(info.tensor.dtype, info.order, turned);
    require(std::equal(turned.begin(), turned.end(), data.begin()));
  }
}

void read(std::span<const std::byte> bytes, bool metadata_only) {
  const auto file = gguf::File::parse(bytes, "fuzz", {.metadata_only = metadata_only});
  if (!file) {
    require(file.error().code() == ErrorCode::kBadFile ||
            file.error().code() == ErrorCode::kUnsupported);
    require(file.error().message().starts_with("fuzz: "));
    require(file.error().message().size() < 1000);
    return;
  }
  require(file->version() == 2 || file->version() == 3);
  require(file->alignment() >= 8 && file->part_count() == 1 && file->mapping(0) == nullptr);
  require(file->file_bytes() == bytes.size());
  use_metadata(*file);
  use_tensors(*file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(bytes), count);
  read(input, false);
  read(input, true);
  return 0;
}
