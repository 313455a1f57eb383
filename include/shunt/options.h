/// \file
/// All configuration there is, in one struct: filled from defaults, then the environment, then
/// flags. Nothing else in Shunt reads the environment. Include it to change settings before
/// Runtime::create() or Registry::create().
///
/// \code
/// SHUNT_ASSIGN(Options options, options_from_environment());
/// options.threads = 4;
/// options.backend_options["cpu"]["level"] = "scalar";
/// SHUNT_ASSIGN(Runtime runtime, Runtime::create(options));
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"

namespace shunt {

/// The largest number of threads of the CPU device.
inline constexpr int kMaxThreads = 1024;

/// Whether the threads of the CPU device are bound to a core each. The thread that calls never is.
enum class PinThreads : std::uint8_t {
  kAuto,  ///< if there is one for each core, and cores don't all share one cache
  kOn,    ///< if there are no more threads than cores
  kOff,
};
class SharedParts;

/// "auto", "on" or "off"; else Invalid.
Result<PinThreads> parse_pin_threads(std::string_view text);

/// The configuration of a Runtime or Registry. An empty one has the defaults, without the
/// environment.
struct Options {
  int threads = 0;  ///< of the CPU device, at most kMaxThreads; 0: one a physical core that this
                    ///< process may use
  PinThreads pin_threads = PinThreads::kAuto;
  std::string
      backend_path;  ///< folders with plugins, separated by ':'; searched before the installed ones
  /// Paths of vendors' libraries, or of their twins, by backend: SHUNT_ZDNN_LIBRARY gives that of
  /// "zdnn".
  std::map<std::string, std::string> libraries;
  /// Settings by backend and option, as text: backend_options["cpu"]["level"] = "scalar". The
  /// backend "*" means every backend that has the option. Each backend has a table of its options
  /// (BackendEntry::options); the registry checks settings against it. With "deterministic" of "*"
  /// on, a token's results do not depend on the other tokens of a step; backends without that
  /// option are left out.
  std::map<std::string, std::map<std::string, std::string>> backend_options;
  /// Variables of the environment that may be settings of backends: SHUNT_CPU_LEVEL is
  /// "cpu.level" where there is a backend "cpu". backend_options override them.
  std::map<std::string, std::string> environment;
  /// Objects that the backends of one registry share, such as threads. Registry::create() makes a
  /// new one for its backends and ignores a value that is set here.
  std::shared_ptr<SharedParts> shared = {};
  /// Files that only save time, such as measured costs of devices. Empty: none are kept.
  std::string cache_folder = {};
};

/// One row of the table of options: the variable of the environment, its help and its setter.
struct OptionInfo {
  std::string_view environment;  ///< "SHUNT_THREADS"
  std::string_view help;
  Status (*set)(Options& options, std::string_view text);
};
/// All rows. Options of backends are in tables of their own (BackendOption).
std::span<const OptionInfo> option_table();

/// Defaults overridden by SHUNT_* variables, among them SHUNT_<BACKEND>_LIBRARY. Invalid, naming
/// the variable, if a value is invalid. Other variables of the form SHUNT_A_B are kept in
/// Options::environment: only the registry knows the options of backends. The cache folder is that
/// of the XDG base directory specification: $XDG_CACHE_HOME/shunt, else $HOME/.cache/shunt.
Result<Options> options_from_environment();

}  // namespace shunt
