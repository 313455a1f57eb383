#include "backends/cuda/options.h"

#include <algorithm>
#include <array>

#include "device/backend_options.h"
#include "shunt/message.h"

namespace shunt::cuda {

namespace {

struct MemoryWord {
  std::string_view word;
  MemoryKind kind;
};
constexpr std::array kMemoryWords = {
    MemoryWord{"auto", MemoryKind::kAuto}, MemoryWord{"mapped", MemoryKind::kMapped},
    MemoryWord{"plain", MemoryKind::kPlain}, MemoryWord{"managed", MemoryKind::kManaged}};

Status check_memory(std::string_view text) {
  return check_word(text, {kMemoryWords[0].word, kMemoryWords[1].word, kMemoryWords[2].word,
                           kMemoryWords[3].word});
}

Status check_level(std::string_view text) {
  static_assert(kLevels.size() == 2);
  return check_word(text, {"auto", kLevels[0].name, kLevels[1].name});
}

constexpr std::array kOptions = {
    BackendOption{"fuse", "fuse operations, with the same results: on, off", check_on_off, "on"},
    BackendOption{"level",
                  "instructions of kernels: base (compute capability 6.1), tensor (8.0: tensor "
                  "cores); auto: the highest that the device has",
                  check_level, "auto"},
    BackendOption{"memory",
                  "allocation of device memory: mapped (virtual memory), plain, or managed, which "
                  "may exceed the device's memory; auto: mapped if the driver can",
                  check_memory, "auto"},
    BackendOption{"pinned", "copy by way of pinned host memory: on, off", check_on_off, "on"},
    BackendOption{"peers", "copy directly between devices that can: on, off", check_on_off, "on"},
    BackendOption{"timeout",
                  "seconds that a wait for a device may last before the device counts as lost",
                  check_timeout, "600"},
};

}  // namespace

std::span<const BackendOption> option_table() {
  return kOptions;
}

CudaOptions parse_options(const Options& options) {
  CudaOptions parsed;
  const auto level =
      std::ranges::find(kLevels, backend_option(options, "cuda", "level"), &LevelRow::name);
  if (level != kLevels.end()) parsed.level = level->level;
  const std::string_view memory = backend_option(options, "cuda", "memory");
  parsed.memory = std::ranges::find(kMemoryWords, memory, &MemoryWord::word)->kind;
  parsed.fuse = backend_option(options, "cuda", "fuse") == "on";
  parsed.pinned = backend_option(options, "cuda", "pinned") == "on";
  parsed.peers = backend_option(options, "cuda", "peers") == "on";
  parsed.timeout = parse_timeout(backend_option(options, "cuda", "timeout"));
  return parsed;
}

}  // namespace shunt::cuda
