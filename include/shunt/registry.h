// Which backends and devices there are: those built in, and plugins found in folders.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/options.h"

namespace shunt {

/// What a plugin's one C entry point returns. The token says what it was built against; see
/// abi_token().
struct BackendEntry {
  const char* token;
  const char* name;
  Result<std::unique_ptr<Backend>> (*create)(const Options& options);
};
using BackendEntryFunction = const BackendEntry* (*)();
/// The name of a plugin's entry point.
inline constexpr const char* kBackendEntryName = "shunt_backend";

/// Interface hash, compiler and standard library ABI, and build flags of this build. A plugin with
/// another token is left out with a message that shows both.
const char* abi_token();

/// A backend that is there, or that stayed off.
struct BackendStatus {
  std::string name;
  std::string origin;  ///< "built in", the plugin's path, or a library's that is of no backend
  bool loaded = false;
  std::string note;  ///< why it stayed off, or what it has to say
};

/// Const after creation: may be used from many threads. Devices live as long as the registry.
class Registry {
 public:
  /// Loads what is built in, then plugins "shunt-backend-NAME.so" from options.backend_path and the
  /// installed folder. A plugin that can't be loaded, a library of no backend: notes in backends().
  static Result<std::unique_ptr<Registry>> create(const Options& options);
  ~Registry();

  std::span<const BackendStatus> backends() const { return statuses_; }
  /// By falling priority; the CPU is last.
  std::span<Device* const> devices() const { return devices_; }
  /// NotFound, listing what there is.
  Result<Device*> find(std::string_view name) const;
  /// Devices by name in the order given, and the CPU behind them if it is not among them. No names:
  /// all devices but those of kind kNull, which compute nothing.
  Result<std::vector<Device*>> select(std::span<const std::string> names) const;

 private:
  struct Loaded;
  Registry();
  void load(const BackendEntry* entry, std::string origin, const Options& options,
            std::unique_ptr<Loaded> loaded);
  void load_plugins(const std::string& folder, const Options& options);
  std::vector<std::unique_ptr<Loaded>> loaded_;
  std::vector<BackendStatus> statuses_;
  std::vector<Device*> devices_;
};

}  // namespace shunt
