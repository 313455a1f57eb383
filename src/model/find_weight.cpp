#include "model/find_weight.h"

#include <fmt/ranges.h>

#include "shunt/message.h"

namespace shunt {

Result<const gguf::TensorInfo*> find_weight(const gguf::File& file, const std::string& name,
                                            std::span<const std::int64_t> sizes, bool optional) {
  const gguf::TensorInfo* info = file.find_tensor(name);
  if (info == nullptr) {
    if (optional) return nullptr;
    return fail(ErrorCode::kBadFile, "{}: tensor {} is missing", file.path(), name);
  }
  while (sizes.size() > 1 && sizes.back() == 1) sizes = sizes.first(sizes.size() - 1);
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    const std::int64_t wanted = i < sizes.size() ? sizes[i] : 1;
    if (info->tensor.size(static_cast<int>(i)) == wanted) continue;
    return fail(ErrorCode::kBadFile,
                "{}: tensor {} is {}; by the file's metadata it should be [{}]", file.path(), name,
                to_string(info->tensor), fmt::join(sizes, ", "));
  }
  return info;
}

}  // namespace shunt
