#include "shunt/registry.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <tuple>

#include "base/dynamic_library.h"
#include "base/fail.h"
#include "device/selection.h"

namespace shunt {

#include "builtin_backends.inc"

namespace {

// Its address is inside the library.
const char kAnchor = 0;

/// A mistyped name would be silent otherwise. Once all are loaded it is known which there are.
void note_unknown_libraries(const Options& options, std::vector<BackendStatus>& statuses) {
  std::set<std::string> names;
  for (const BackendStatus& status : statuses) names.insert(status.name);
  for (const auto& [name, path] : options.libraries) {
    if (names.contains(name)) continue;
    statuses.push_back({name, path, false,
                        fmt::format("there is no such backend; those that there are: {}",
                                    fmt::join(names, ", "))});
  }
}

}  // namespace

struct Registry::Loaded {
  // In this order: the backend goes before the library that holds its code.
  std::optional<DynamicLibrary> library;
  std::unique_ptr<Backend> backend;
};

Registry::Registry() = default;
Registry::~Registry() {
  // Later backends may use what earlier ones brought.
  while (!loaded_.empty()) loaded_.pop_back();
}

void Registry::load(const BackendEntry* entry, std::string origin, const Options& options,
                    std::unique_ptr<Loaded> loaded) {
  BackendStatus status{entry->name, std::move(origin), false, ""};
  for (const BackendStatus& other : statuses_) {
    if (other.loaded && other.name == status.name) {
      status.note = fmt::format("left out: {} is there already, {}", other.name, other.origin);
      statuses_.push_back(std::move(status));
      return;
    }
  }
  try {
    auto backend = entry->create(options);
    if (backend) {
      loaded->backend = std::move(*backend);
      status.loaded = true;
      status.note = loaded->backend->note();
    } else {
      status.note = backend.error().message();
    }
  } catch (const std::exception& exception) {  // what a vendor's library may throw ends here
    status.note = fmt::format("it threw: {}", exception.what());
  }
  if (status.loaded) loaded_.push_back(std::move(loaded));
  statuses_.push_back(std::move(status));
}

void Registry::load_plugins(const std::string& folder, const Options& options) {
  std::error_code error;
  std::set<std::string> paths;  // in order, so that the same folder always gives the same registry
  for (const auto& item : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = item.path().filename().string();
    if (name.starts_with("shunt-backend-") && name.ends_with(".so"))
      paths.insert(item.path().string());
  }
  for (const std::string& path : paths) {
    BackendStatus status{
        std::filesystem::path(path).stem().string().substr(std::strlen("shunt-backend-")), path,
        false, ""};
    auto library = DynamicLibrary::open(path);
    if (!library) {
      status.note = fmt::format("can't be loaded: {}", library.error().message());
      statuses_.push_back(std::move(status));
      continue;
    }
    auto loaded = std::make_unique<Loaded>();
    loaded->library = std::move(*library);
    auto* function =
        reinterpret_cast<BackendEntryFunction>(loaded->library->find(kBackendEntryName));
    if (function == nullptr) {
      status.note = fmt::format("has no entry point {}", kBackendEntryName);
      statuses_.push_back(std::move(status));
      continue;
    }
    const BackendEntry* entry = function();
    if (entry == nullptr || entry->token == nullptr ||
        std::strcmp(entry->token, abi_token()) != 0) {
      status.note =
          fmt::format("was built for another Shunt: its token is \"{}\", this one's \"{}\"",
                      entry == nullptr || entry->token == nullptr ? "" : entry->token, abi_token());
      statuses_.push_back(std::move(status));
      continue;
    }
    load(entry, path, options, std::move(loaded));
  }
}

Result<std::unique_ptr<Registry>> Registry::create(const Options& options) {
  try {
    std::unique_ptr<Registry> registry(new Registry());
    for (BackendEntryFunction function : kBuiltinBackends) {
      registry->load(function(), "built in", options, std::make_unique<Loaded>());
    }
    std::string_view folders = options.backend_path;
    while (!folders.empty()) {
      const std::size_t end = std::min(folders.find(':'), folders.size());
      if (end > 0) registry->load_plugins(std::string(folders.substr(0, end)), options);
      folders.remove_prefix(std::min(end + 1, folders.size()));
    }
    // The installed ones lie beside the library, wherever that is.
    const std::string folder = folder_of_code(&kAnchor);
    if (!folder.empty()) registry->load_plugins(folder + "/" SHUNT_PLUGIN_FOLDER, options);

    note_unknown_libraries(options, registry->statuses_);

    for (const auto& loaded : registry->loaded_) {
      const auto devices = loaded->backend->devices();
      registry->devices_.insert(registry->devices_.end(), devices.begin(), devices.end());
    }
    // By rank, and where that is the same in the order in which they came.
    std::map<std::tuple<bool, int, std::size_t>, Device*> ranked;
    for (Device* device : registry->devices_) {
      const DeviceInfo info = device->info();
      ranked[{info.kind == DeviceKind::kCpu, -info.priority, ranked.size()}] = device;
    }
    registry->devices_.clear();
    for (const auto& [rank, device] : ranked) registry->devices_.push_back(device);
    return registry;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kOutOfMemory, "out of memory while loading backends");
  }
}

Result<Device*> Registry::find(std::string_view name) const {
  std::string known;
  for (Device* device : devices_) {
    const std::string each = device->info().name;
    if (each == name) return device;
    known += (known.empty() ? "" : ", ") + each;
  }
  const std::string off = stayed_off(*this);
  return fail(ErrorCode::kNotFound, "there is no device \"{}\"; there is {}{}{}", name,
              known.empty() ? "none at all" : known, off.empty() ? "" : "; ", off);
}

Result<std::vector<Device*>> Registry::select(std::span<const std::string> names) const {
  std::vector<Device*> selected;
  if (names.empty()) {
    for (Device* device : devices_) {
      if (device->info().kind != DeviceKind::kNull) selected.push_back(device);
    }
    return selected;
  }
  for (const std::string& name : names) {
    SHUNT_ASSIGN(Device * device, find(name));
    if (std::find(selected.begin(), selected.end(), device) == selected.end())
      selected.push_back(device);
  }
  // The CPU closes every list: it takes what nobody else can.
  const auto is_cpu = [](const Device* device) { return device->info().kind == DeviceKind::kCpu; };
  std::erase_if(selected, is_cpu);
  const auto cpu = std::find_if(devices_.begin(), devices_.end(), is_cpu);
  if (cpu != devices_.end()) selected.push_back(*cpu);
  return selected;
}

}  // namespace shunt
