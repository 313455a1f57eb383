#include <filesystem>

#include "base/dynamic_library.h"
#include "base/guarded.h"
#include "shunt/engine.h"
#include "shunt/message.h"

namespace shunt {
namespace {

constexpr char kAnchor = 0;  // an address in this library

}  // namespace

Result<std::string> default_model() {
  return guarded([]() -> Result<std::string> {
    // In the folder of the plugins: relative to the library, in any installation.
    const std::string folder = folder_of_code(&kAnchor);
    if (folder.empty()) {
      return fail(
          ErrorCode::kNotFound,
          "the folder of the library is unknown, so the model that comes with Shunt is not found");
    }
    std::string path = folder + "/" SHUNT_PLUGIN_FOLDER "/stories.gguf";
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
    return fail(ErrorCode::kNotFound, "the model that comes with Shunt is not at {}", path);
  });
}

}  // namespace shunt
