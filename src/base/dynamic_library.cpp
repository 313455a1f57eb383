#include "base/dynamic_library.h"

#include <dlfcn.h>

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

void* DynamicLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace shunt
