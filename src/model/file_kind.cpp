#include "model/file_kind.h"

#include <string_view>

#include "shunt/message.h"

namespace shunt {

namespace {

/// A kind, by one of two keys. A file of the kind has that value of it.
struct FileKind {
  std::string_view key;
  std::string_view value;
  std::string_view what;
};

constexpr std::string_view kGeneralType = "general.type";
constexpr std::string_view kArchitecture = "general.architecture";
constexpr std::string_view kProjector =
    "a projector of images or sounds; Shunt runs the text part of a model, which is another file";
constexpr FileKind kKinds[] = {
    {kGeneralType, "adapter",
     "an adapter; load it beside its model: shunt run --model MODEL --lora FILE"},
    {kGeneralType, "mmproj", kProjector},
    {kGeneralType, "clip-vision", kProjector},
    {kArchitecture, "clip", kProjector},
    {kArchitecture, "controlvector", "a control vector, which Shunt does not apply"},
    {kGeneralType, "imatrix", "an importance matrix; use it with shunt quantize --imatrix FILE"},
};

}  // namespace

Status check_is_model(const gguf::File& file) {
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorCode::kUnsupported, "{}: this is no model, but {}", file.path(), what);
  };
  for (const FileKind& kind : kKinds) {
    const auto value = file.get_string_or(kind.key, "");
    if (value && *value == kind.value) return refuse(kind.what);
  }
  if (file.tensors().empty() && file.find("tokenizer.ggml.model") != nullptr)
    return refuse("a vocabulary without weights; shunt tokenize --model FILE reads it");
  return ok();
}

}  // namespace shunt
