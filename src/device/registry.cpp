#include "shunt/registry.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "base/dynamic_library.h"
#include "base/guarded.h"
#include "device/backend_options.h"
#include "device/shared_parts.h"
#include "shunt/message.h"
#include "shunt/select_devices.h"

namespace shunt {

#include "builtin_backends.inc"

namespace {

// Its address is inside the library.
const char kAnchor = 0;

/// Reports mistyped names. The list of backends is complete only after loading.
void note_unknown_libraries(const Options& options, std::vector<BackendStatus>& statuses) {
  std::set<std::string> names;
  for (const BackendStatus& status : statuses) names.insert(status.name);
  for (const auto& [name, path] : options.libraries) {
    if (names.contains(name)) continue;
    statuses.push_back(
        {name, path, false,
         fmt::format("there is no such backend; the backends are: {}", fmt::join(names, ", "))});
  }
}

}  // namespace

struct Registry::Loaded {
  // In this order: the backend is destroyed before the library with its code is closed.
  std::optional<DynamicLibrary> library;
  std::unique_ptr<Backend> backend;
};

/// An entry point, built in or of a plugin, before its backend is created.
struct FoundBackend {
  std::string name;
  std::string origin;
  const BackendEntry* entry = nullptr;  ///< null: it is not available
  std::string note;                     ///< why
  std::optional<DynamicLibrary> library;
};

namespace {

/// Makes it unavailable, with a note, if its entry is malformed.
void check_found(FoundBackend& found) {
  const Status status = guarded([&] { return check_entry(*found.entry); });
  if (status) return;
  found.note = fmt::format("left out: {}", status.error().message());
  found.entry = nullptr;
}

/// Looks for the entry point. `found` has the note if there is none.
void open_plugin(const std::string& path, FoundBackend& found) {
  auto library = DynamicLibrary::open(path);
  if (!library) {
    found.note = fmt::format("can't be loaded: {}", library.error().message());
    return;
  }
  auto* function = reinterpret_cast<BackendEntryFunction>(library->find(kBackendEntryName));
  if (function == nullptr) {
    found.note = fmt::format("has no entry point {}", kBackendEntryName);
    return;
  }
  const BackendEntry* entry = function();
  if (entry == nullptr || entry->token == nullptr || std::strcmp(entry->token, abi_token()) != 0) {
    found.note =
        fmt::format("was built for another build of Shunt: its token is \"{}\", this one's \"{}\"",
                    entry == nullptr || entry->token == nullptr ? "" : entry->token, abi_token());
    return;
  }
  if (entry->name != nullptr) found.name = entry->name;
  found.entry = entry;
  found.library = std::move(*library);
  check_found(found);
}

/// The plugins of a folder. Returns why the folder can't be read.
std::error_code find_plugins(const std::string& folder, std::vector<FoundBackend>& all) {
  std::error_code error;
  std::set<std::string> paths;  // in order, so that the same folder always gives the same registry
  for (std::filesystem::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    if (name.starts_with("shunt-backend-") && name.ends_with(".so"))
      paths.insert(item->path().string());
  }
  for (const std::string& path : paths) {
    FoundBackend found{
        std::filesystem::path(path).stem().string().substr(std::strlen("shunt-backend-")),
        path,
        nullptr,
        "",
        {}};
    open_plugin(path, found);
    all.push_back(std::move(found));
  }
  return error;
}

/// The backends that are built in, then plugins of Options::backend_path, then the installed ones.
/// `unreadable` gets a note for each folder that can't be read.
std::vector<FoundBackend> find_backends(const Options& options,
                                        std::vector<BackendStatus>& unreadable) {
  std::vector<FoundBackend> all;
  const auto search = [&](const std::string& folder, bool may_be_missing) {
    const std::error_code error = find_plugins(folder, all);
    if (!error || (may_be_missing && error == std::errc::no_such_file_or_directory)) return;
    unreadable.push_back({"plugins", folder, false,
                          fmt::format("can't read the folder {}: {}", folder, error.message())});
  };
  for (BackendEntryFunction function : kBuiltinBackends) {
    const BackendEntry* entry = function();
    all.push_back({entry->name, "built in", entry, "", {}});
    check_found(all.back());
  }
  std::string_view folders = options.backend_path;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    if (end > 0) search(std::string(folders.substr(0, end)), false);
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  // Installed plugins are in a folder next to the library.
  const std::string folder = folder_of_code(&kAnchor);
  if (!folder.empty()) search(folder + "/" SHUNT_PLUGIN_FOLDER, true);
  return all;
}

/// Of several backends of one name the first.
Status check_settings_of(const std::vector<FoundBackend>& all, const Options& options) {
  std::vector<BackendOptions> tables;
  std::set<std::string_view> names;
  for (const FoundBackend& found : all) {
    if (found.entry == nullptr || !names.insert(found.name).second) continue;
    tables.push_back({found.name, found.entry->options});
  }
  return check_settings(options, tables);
}

/// Whether results must not depend on the other tokens of a step, and a backend has no option that
/// promises it.
bool lacks_determinism(const Options& options, std::span<const BackendOption> table) {
  constexpr std::string_view kOption = "deterministic";
  const auto every = options.backend_options.find("*");
  if (every == options.backend_options.end()) return false;
  const auto wanted = every->second.find(std::string(kOption));
  return wanted != every->second.end() && wanted->second == "on" &&
         std::ranges::count(table, kOption, &BackendOption::name) == 0;
}

}  // namespace

Registry::Registry() = default;
Registry::~Registry() {
  // Later backends may use shared objects of earlier ones.
  while (!loaded_.empty()) loaded_.pop_back();
}

void Registry::create_backend(FoundBackend& found, const Options& options) {
  BackendStatus status{found.name, found.origin, false, found.note};
  const auto same = std::ranges::find_if(statuses_, [&](const BackendStatus& other) {
    return other.loaded && other.name == found.name;
  });
  if (found.entry == nullptr || same != statuses_.end()) {
    if (found.entry != nullptr) {
      status.note = fmt::format("left out: {} is registered already, {}", same->name, same->origin);
    }
    statuses_.push_back(std::move(status));
    return;
  }
  const std::span<const BackendOption> table = found.entry->options;
  if (lacks_determinism(options, table)) {
    status.note =
        "left out: it has no option \"deterministic\", so its results may depend on the other "
        "tokens of a step";
    statuses_.push_back(std::move(status));
    return;
  }
  Options own = options;
  own.backend_options = {{found.name, settings_of(options, {found.name, table})}};
  own.environment.clear();
  for (const BackendOption& row : table) {
    status.options.push_back({std::string(row.name), std::string(row.help),
                              std::string(row.default_value),
                              std::string(backend_option(own, found.name, row.name)),
                              variable_of(found.name, row.name)});
  }
  auto loaded = std::make_unique<Loaded>();
  loaded->library = std::move(found.library);
  // Exceptions of a vendor's library end here.
  auto backend = guarded(
      [&]() -> Result<std::unique_ptr<Backend>> {
        SHUNT_TRY(check_settings(own, {{{found.name, table}}}));
        return found.entry->create(own);
      },
      "it threw");
  if (backend) {
    loaded->backend = std::move(*backend);
    status.loaded = true;
    status.note = loaded->backend->note();
    loaded_.push_back(std::move(loaded));
  } else {
    status.note = to_text(backend.error());
  }
  statuses_.push_back(std::move(status));
}

void Registry::rank_devices() {
  for (const auto& loaded : loaded_) {
    const auto devices = loaded->backend->devices();
    devices_.insert(devices_.end(), devices.begin(), devices.end());
  }
  // By rank, and where that is the same in the order in which they came.
  std::map<std::tuple<bool, int, std::size_t>, Device*> ranked;
  for (Device* device : devices_) {
    const DeviceInfo info = device->info();
    ranked[{info.kind == DeviceKind::kCpu, -info.priority, ranked.size()}] = device;
  }
  devices_.clear();
  for (const auto& [rank, device] : ranked) devices_.push_back(device);
}

Result<std::unique_ptr<Registry>> Registry::create(const Options& options) {
  return guarded(
      [&]() -> Result<std::unique_ptr<Registry>> {
        std::unique_ptr<Registry> registry(new Registry());
        std::vector<BackendStatus> unreadable;
        std::vector<FoundBackend> all = find_backends(options, unreadable);
        SHUNT_TRY(check_settings_of(all, options));
        Options own = options;
        own.shared = std::make_shared<SharedParts>();
        for (FoundBackend& found : all) registry->create_backend(found, own);
        note_unknown_libraries(options, registry->statuses_);
        std::ranges::move(unreadable, std::back_inserter(registry->statuses_));
        registry->rank_devices();
        return registry;
      },
      "loading backends");
}

Status check_backend_options(const Options& options) {
  if (options.backend_options.empty() && options.environment.empty()) return ok();
  return guarded([&] {
    std::vector<BackendStatus> unreadable;  // Registry::create() notes them
    return check_settings_of(find_backends(options, unreadable), options);
  });
}

Result<Device*> Registry::find(std::string_view name) const {
  std::string known;
  for (Device* device : devices_) {
    const std::string each(device->name());
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
      if (device->info().priority >= 0) selected.push_back(device);
    }
    return selected;
  }
  for (const std::string& name : names) {
    SHUNT_ASSIGN(Device * device, find(name));
    if (std::find(selected.begin(), selected.end(), device) == selected.end())
      selected.push_back(device);
  }
  // The CPU is the last of every list: it computes the nodes that no other device can.
  const auto is_cpu = [](const Device* device) { return device->info().kind == DeviceKind::kCpu; };
  std::erase_if(selected, is_cpu);
  const auto cpu = std::find_if(devices_.begin(), devices_.end(), is_cpu);
  if (cpu != devices_.end()) selected.push_back(*cpu);
  return selected;
}

}  // namespace shunt
