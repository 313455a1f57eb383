#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "shunt/message.h"

namespace shunt {

Result<DynamicLibrary> DynamicLibrary::open(const std::string& path, Binding binding) {
  // The loader treats an empty name as the program itself.
  if (path.empty()) return invalid("a library without a path");
  void* handle =
      dlopen(path.c_str(), (binding == Binding::kNow ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): a text for each thread in glibc
    return fail(ErrorCode::kNotFound, "{}", why != nullptr ? why : "the loader gives no reason");
  }
  return DynamicLibrary(handle);
}

bool DynamicLibrary::is_loaded(const std::string& path) {
  void* const handle = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) {
    // That of another call must not be taken for this one's.
    (void)dlerror();  // NOLINT(concurrency-mt-unsafe): a text for each thread in glibc
    return false;
  }
  dlclose(handle);
  return true;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* DynamicLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

std::string DynamicLibrary::path() const {
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return "";
  std::error_code error;
  const auto path = std::filesystem::canonical(map->l_name, error);
  return error ? map->l_name : path.string();
}

std::string folder_of_code(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  // The path may be relative to the working folder, which can change.
  std::error_code error;
  const auto path = std::filesystem::absolute(info.dli_fname, error);
  return error ? "" : path.parent_path().string();
}

}  // namespace shunt
