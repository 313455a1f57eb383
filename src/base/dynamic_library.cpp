#include "base/dynamic_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/fail.h"

namespace shunt {

Result<DynamicLibrary> DynamicLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return fail(ErrorCode::kNotFound, "{}", why != nullptr ? why : "the loader does not say why");
  }
  return DynamicLibrary(handle);
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* DynamicLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

std::string folder_of_code(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  // Where it was found may be said relative to the working folder, which can change.
  std::error_code error;
  const auto path = std::filesystem::absolute(info.dli_fname, error);
  return error ? "" : path.parent_path().string();
}

}  // namespace shunt
