#include "backends/cpu/options.h"

#include <array>

#include "device/backend_options.h"
#include "shunt/message.h"

namespace shunt::cpu {

namespace {

constexpr std::string_view kBest = "best";

/// The levels there are depend on the machine: CpuDevice::create() knows them.
Status check_level(std::string_view text) {
  if (!text.empty()) return ok();
  return invalid("\"\" is not {} or a level such as scalar", kBest);
}

Status check_memory(std::string_view text) {
  return check_word(text, {"plain", "hbm"});
}

constexpr std::array kOptions = {
    BackendOption{"level", "highest vector level of kernels, e.g. scalar; best: all of the machine",
                  check_level, kBest},
    BackendOption{"fuse", "fuse operations, with the same results: on, off", check_on_off, "on"},
    BackendOption{"deterministic",
                  "results of a token that do not depend on the other tokens of a step: on, off",
                  check_on_off, "off"},
    BackendOption{"memory",
                  "memory of weights, caches and activations: plain, or hbm: "
                  "high-bandwidth memory, where the machine has such NUMA nodes",
                  check_memory, "plain"},
    BackendOption{"calibrate",
                  "measure devices if times are predicted without a costs file: on, off",
                  check_on_off, "on"},
};

}  // namespace

std::span<const BackendOption> option_table() {
  return kOptions;
}

CpuOptions parse_options(const Options& options) {
  const std::string_view level = backend_option(options, "cpu", "level");
  return {.level = level == kBest ? std::string() : std::string(level),
          .fuse = backend_option(options, "cpu", "fuse") != "off",
          .deterministic = backend_option(options, "cpu", "deterministic") == "on",
          .high_bandwidth = backend_option(options, "cpu", "memory") == "hbm"};
}

}  // namespace shunt::cpu
