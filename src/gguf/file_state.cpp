#include "gguf/file_state.h"

#include <utility>

#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt::gguf {

void add_part(FileState* state, Part part, PartData data) {
  const auto number = static_cast<std::uint32_t>(state->parts.size());
  if (number == 0) {
    state->version = part.version;
    state->order = part.order;
    state->alignment = part.alignment;
    state->metadata = std::move(part.metadata);
  }
  state->parts.push_back(std::move(data));
  for (TensorInfo& info : part.tensors) {
    info.part = number;
    state->tensors.push_back(std::move(info));
  }
  state->listed_tensors += part.listed_tensors;
}

Status join_parts(FileState* state, std::optional<std::uint64_t> expected_tensors) {
  if (expected_tensors && *expected_tensors != state->listed_tensors) {
    return fail(ErrorCode::kBadFile,
                "metadata 'split.tensors.count': {} tensors expected, but the {} parts have {}",
                *expected_tensors, state->parts.size(), state->listed_tensors);
  }
  std::vector<std::string_view> keys;
  keys.reserve(state->metadata.size());
  for (const KeyValue& entry : state->metadata) keys.push_back(entry.key);
  state->keys = NameIndex(keys);
  std::vector<std::string_view> names;
  names.reserve(state->tensors.size());
  for (const TensorInfo& info : state->tensors) names.push_back(info.name);
  state->names = NameIndex(names);
  if (const auto twice = state->names.duplicate()) {
    return fail(ErrorCode::kBadFile,
                "tensor {} is in part {} and again in part {}; names must differ",
                printable(names[twice->first]), state->tensors[twice->first].part + 1,
                state->tensors[twice->second].part + 1);
  }
  return ok();
}

}  // namespace shunt::gguf
