// All configuration there is, in one struct: filled from defaults, then the environment, then
// flags. Nothing else in Shunt reads the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"

namespace shunt {

/// Whether the threads of the CPU device are bound to a core each. The thread that calls never is.
enum class PinThreads : std::uint8_t {
  kAuto,  ///< if there is one for each core, and cores don't all share one cache
  kOn,    ///< if there are no more threads than cores
  kOff,
};
/// "auto", "on" or "off"; else Invalid.
Result<PinThreads> parse_pin_threads(std::string_view text);

/// What a device does with finite numbers that its own format does not have (DLFLOAT16: beyond
/// 8.57e9). Either way it is counted, by node (Device::warnings()).
enum class OutOfRange : std::uint8_t {
  kSaturate,  ///< they become the largest one of their sign
  kExact,     ///< what meets them is computed by its plain meaning, without the device
};
/// "saturate" or "exact"; else Invalid.
Result<OutOfRange> parse_out_of_range(std::string_view text);

struct Options {
  int threads = 0;  ///< of the CPU device; 0: one a physical core that this process may use
  PinThreads pin_threads = PinThreads::kAuto;
  std::string
      backend_path;  ///< folders with plugins, separated by ':'; searched before the installed ones
  std::string cpu_level;  ///< highest vector level of CPU kernels: "scalar", "sse4", "avx2",
                          ///< "avx2_vnni", "avx3", "avx3_dl", "amx"; empty: the best
  bool cpu_fuse = true;   ///< the CPU computes some nodes at once, which changes its speed only
  OutOfRange out_of_range = OutOfRange::kSaturate;
  std::map<std::string, std::string>
      libraries;  ///< paths of vendors' libraries, or of their twins, by backend: what
                  ///< SHUNT_ZDNN_LIBRARY says is that of "zdnn"
};

/// One row of the table of options: how each is called in the environment and what it does.
struct OptionInfo {
  std::string_view environment;  ///< "SHUNT_THREADS"
  std::string_view help;
  Status (*set)(Options& options, std::string_view text);
};
std::span<const OptionInfo> option_table();

/// Defaults overridden by SHUNT_* variables, among them SHUNT_<BACKEND>_LIBRARY. Invalid, naming
/// the variable, if one makes no sense.
Result<Options> options_from_environment();

}  // namespace shunt
