/// \file
/// The backends and devices of a process: those built in, and plugins found in folders. Include it
/// to list devices, or to choose them for Model::load() and make_plan(). Runtime (runtime.h) has a
/// registry of its own.
///
/// \code
/// SHUNT_ASSIGN(const Options options, options_from_environment());
/// SHUNT_ASSIGN(const auto registry, Registry::create(options));
/// for (const Device* device : registry->devices()) {
///   std::cout << device->name() << ": " << device->info().description << "\n";
/// }
/// \endcode
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/device.h"
#include "shunt/options.h"

namespace shunt {

/// One row of a backend's table of options. An option of the backend "cpu" called "level" is
/// "cpu.level" for the user, SHUNT_CPU_LEVEL in the environment. The texts are read as long as the
/// backend's code is loaded. `check` may be called from any thread.
struct BackendOption {
  std::string_view name;  ///< [a-z][a-z0-9_]*, once in a table
  std::string_view help;
  Status (*check)(std::string_view text);  ///< Invalid, with the values that exist
  std::string_view default_value;
  std::string_view also = {};  ///< another variable of the environment that sets it
};

/// The value that a plugin's one C entry point returns. The token identifies the Shunt that it was
/// built against; see abi_token().
struct BackendEntry {
  const char* token;
  const char* name;
  /// `options` has a checked value for each of the backend's own options: backend_option() reads
  /// it. The value is parsed here, once.
  Result<std::unique_ptr<Backend>> (*create)(const Options& options);
  std::span<const BackendOption> options = {};
};
/// The type of that entry point. The entry must stay valid while the plugin is loaded.
using BackendEntryFunction = const BackendEntry* (*)();
/// The name of a plugin's entry point.
inline constexpr const char* kBackendEntryName = "shunt_backend";

/// Interface hash, compiler and standard library ABI, and build flags of this build. A plugin with
/// another token is left out with a message that shows both.
const char* abi_token();

/// The value of a backend's option in the options that BackendEntry::create gets.
std::string_view backend_option(const Options& options, std::string_view backend,
                                std::string_view option);

/// Invalid if a setting in Options::backend_options, or a variable in Options::environment that
/// names a backend, is of no backend or option that there is, or its value is refused. Loads
/// plugins to learn their options, but creates no backend. Registry::create() checks the same.
Status check_backend_options(const Options& options);

/// An option of a backend, with its value.
struct OptionStatus {
  std::string name;
  std::string help;
  std::string default_value;
  std::string value;
  std::string variable;  ///< of the environment: "SHUNT_CPU_LEVEL"
};

/// A backend that is loaded or not available; or a note about a path in the options.
struct BackendStatus {
  std::string name;  ///< "plugins" for a folder that can't be read
  /// "built in", the path of the plugin, of a library that belongs to no backend, or of a folder.
  std::string origin;
  bool loaded = false;
  std::string note;  ///< why it is not available, or a note of the backend
  std::vector<OptionStatus> options = {};
};

struct FoundBackend;

/// Const after creation: may be used from many threads. Devices live as long as the registry.
class Registry {
 public:
  /// Loads the backends that are built in, then plugins "shunt-backend-NAME.so" from
  /// options.backend_path and the installed folder. backends() has a note for each plugin that
  /// can't be loaded, each library of no backend, and each folder of options.backend_path that
  /// can't be read. Invalid as check_backend_options() says.
  static Result<std::unique_ptr<Registry>> create(const Options& options);
  ~Registry();

  /// Each backend, loaded or off, and notes about paths. Valid as long as the registry.
  std::span<const BackendStatus> backends() const { return statuses_; }
  /// By falling priority; the CPU is last.
  std::span<Device* const> devices() const { return devices_; }
  /// NotFound, with the list of devices.
  Result<Device*> find(std::string_view name) const;
  /// Devices by name in the order given, and the CPU behind them if it is not among them. No names:
  /// all devices but those with a priority below 0.
  Result<std::vector<Device*>> select(std::span<const std::string> names) const;

 private:
  struct Loaded;
  Registry();
  void create_backend(FoundBackend& found, const Options& options);
  void rank_devices();
  std::vector<std::unique_ptr<Loaded>> loaded_;
  std::vector<BackendStatus> statuses_;
  std::vector<Device*> devices_;
};

}  // namespace shunt
