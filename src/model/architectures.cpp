#include "model/architectures.h"

#include <array>

#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::array kArchitectures = {
    Architecture{"llama", read_llama},
};

}  // namespace

Result<std::unique_ptr<ModelDefinition>> read_model(const gguf::File& file) {
  SHUNT_ASSIGN(const std::string wanted, file.get_string("general.architecture"));
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == wanted) return architecture.read(file);
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return fail(ErrorCode::kUnsupported,
              "{}: architecture \"{}\" is not supported; Shunt supports {}", file.path(), wanted,
              known);
}

}  // namespace shunt
