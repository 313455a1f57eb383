// Safetensors: any bytes are read or refused, and all data of a file that was read can be reached.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "convert/safetensors.h"

namespace {

using namespace shunt;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(bytes), count);
  const auto file = SafetensorsFile::parse(input, "fuzz");
  if (!file) {
    require(file.error().code() == ErrorCode::kBadFile ||
            file.error().code() == ErrorCode::kUnsupported);
    require(file.error().message().starts_with("fuzz: "));
    return 0;
  }
  std::size_t all = 0;
  for (const StoredTensor& tensor : file->tensors()) {
    require(tensor.bytes.size() ==
            static_cast<std::size_t>(tensor.elements()) * facts_of(tensor.type).bytes);
    require(tensor.bytes.data() >= input.data() &&
            tensor.bytes.data() + tensor.bytes.size() <= input.data() + input.size());
    all += tensor.bytes.size();
    (void)to_string(tensor);
  }
  require(all <= input.size());
  return 0;
}
