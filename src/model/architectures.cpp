#include "model/architectures/list.h"
#include "model/file_kind.h"
#include "model/unused_parts.h"
#include "shunt/message.h"

namespace shunt {

namespace {

#define SHUNT_NAME(name, describe) inline constexpr std::string_view k_##describe = name;
SHUNT_ARCHITECTURES(SHUNT_NAME)
#undef SHUNT_NAME

#define SHUNT_ROW(name, describe) \
  Architecture{k_##describe, read_described<describe, k_##describe>},
constexpr Architecture kArchitectures[] = {SHUNT_ARCHITECTURES(SHUNT_ROW)};
#undef SHUNT_ROW

#define SHUNT_DESCRIBE(name, describe) {name, describe},
constexpr std::pair<std::string_view, Describe> kDescriptions[] = {
    SHUNT_ARCHITECTURES(SHUNT_DESCRIBE)};
#undef SHUNT_DESCRIBE

}  // namespace

Describe find_description(std::string_view architecture) {
  for (const auto& [name, describe] : kDescriptions) {
    if (name == architecture) return describe;
  }
  return nullptr;
}

std::string architecture_names() {
  std::string names;
  for (const auto& [name, describe] : kDescriptions)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return names;
}

std::span<const Architecture> architectures() {
  return kArchitectures;
}

Result<std::unique_ptr<ModelDefinition>> read_model(const gguf::File& file, const ReadModel& how) {
  SHUNT_TRY(check_is_model(file));
  SHUNT_ASSIGN(const std::string wanted, file.get_string("general.architecture"));
  std::vector<const Architecture*> all;
  all.reserve(architectures().size() + how.more.size());
  for (const Architecture& architecture : architectures()) all.push_back(&architecture);
  all.insert(all.end(), how.more.begin(), how.more.end());
  std::string known;
  for (const Architecture* architecture : all) {
    if (architecture->name == wanted) {
      SHUNT_ASSIGN(auto model, architecture->read(file));
      if (how.embeddings) SHUNT_TRY(model->give_embeddings());
      if (!how.may_leave_parts) SHUNT_TRY(check_unused_parts(file, *model, how));
      return model;
    }
    known += (known.empty() ? "" : ", ") + std::string(architecture->name);
  }
  return fail(ErrorCode::kUnsupported,
              "{}: architecture \"{}\" is not supported; Shunt supports {}", file.path(), wanted,
              known);
}

}  // namespace shunt
