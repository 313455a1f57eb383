#include "model/architectures.h"

#include <array>

#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::array kArchitectures = {
    Architecture{"llama", read_llama},
};

}  // namespace

Result<std::unique_ptr<ModelDefinition>> read_model(const gguf::File& file,
                                                    std::span<const Architecture* const> more) {
  SHUNT_ASSIGN(const std::string wanted, file.get_string("general.architecture"));
  std::vector<const Architecture*> all;
  all.reserve(kArchitectures.size() + more.size());
  for (const Architecture& architecture : kArchitectures) all.push_back(&architecture);
  all.insert(all.end(), more.begin(), more.end());
  std::string known;
  for (const Architecture* architecture : all) {
    if (architecture->name == wanted) return architecture->read(file);
    known += (known.empty() ? "" : ", ") + std::string(architecture->name);
  }
  return fail(ErrorCode::kUnsupported,
              "{}: architecture \"{}\" is not supported; Shunt supports {}", file.path(), wanted,
              known);
}

}  // namespace shunt
