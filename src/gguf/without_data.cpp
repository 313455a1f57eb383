#include "gguf/without_data.h"

#include <memory>
#include <utility>

#include "gguf/file_state.h"
#include "shunt/message.h"

namespace shunt::gguf {

Result<File> without_data(const std::string& name, std::vector<KeyValue> metadata,
                          std::vector<TensorInfo> tensors) {
  constexpr std::uint32_t kNewestVersion = 3;
  auto state = std::make_shared<FileState>();
  state->path = name;
  state->version = kNewestVersion;
  state->alignment = kDefaultAlignment;
  state->metadata = std::move(metadata);
  state->listed_tensors = tensors.size();
  state->tensors = std::move(tensors);
  auto joined = join_parts(state.get(), std::nullopt);
  if (!joined) return std::move(joined.error()).with_context(name);
  if (const auto twice = state->keys.duplicate()) {
    return fail(ErrorCode::kBadFile, "{}: metadata {}: the key occurs twice", name,
                printable(state->metadata[twice->first].key));
  }
  return File(std::shared_ptr<const FileState>(std::move(state)));
}

}  // namespace shunt::gguf
