#include "ascend/profiles.h"

#include "ascend/settings.h"

namespace ascend_twin {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

constexpr Profile kProfiles[] = {
    {.name = "910b",
     .soc = "Ascend910B3",
     .chip = k910b,
     .one_memory = false,
     .saturates = false,
     .has_bf16 = true,
     .has_virtual_memory = true,
     .has_capture = true,
     .has_peers = true,
     .has_registered_host = true,
     .memory = 64 * kGiB,
     .streams = 1984,
     .events = 65536,
     .cube_cores = 20,
     .vector_cores = 40,
     .l2 = 192 << 20,
     .arch = 2201,
     .granularity = 2 << 20},
    {.name = "310p",
     .soc = "Ascend310P3",
     .chip = k310p,
     .one_memory = false,
     .saturates = true,
     .has_bf16 = false,
     .has_virtual_memory = true,
     .has_capture = true,
     .has_peers = true,
     .has_registered_host = false,
     .memory = 24'000'000'000,
     .streams = 1024,
     .events = 1023,
     .cube_cores = 8,
     .vector_cores = 7,
     .l2 = 16 << 20,
     .arch = 2002,
     .granularity = 2 << 20},
    {.name = "310b",
     .soc = "Ascend310B1",
     .chip = k310b,
     .one_memory = true,
     .saturates = true,
     .has_bf16 = false,
     .has_virtual_memory = false,
     .has_capture = false,
     .has_peers = false,
     .has_registered_host = false,
     .memory = 32 * kGiB,
     .streams = 512,
     .events = 65536,
     .cube_cores = 1,
     .vector_cores = 1,
     .l2 = 4 << 20,
     .arch = 3002,
     .granularity = 0},
};

// In the order of the setting's choices.
constexpr const char* kSocs[] = {
    nullptr,          "Ascend910B1",    "Ascend910B2",    "Ascend910B2C",   "Ascend910B3",
    "Ascend910B4",    "Ascend910B4-1",  "Ascend910_9362", "Ascend910_9372", "Ascend910_9381",
    "Ascend910_9382", "Ascend910_9391", "Ascend910_9392", "Ascend310P1",    "Ascend310P3",
    "Ascend310P5",    "Ascend310P7",    "Ascend310B1",    "Ascend310B2",    "Ascend310B3",
    "Ascend310B4",    "Ascend910A",     "Ascend910ProA",  "Ascend910ProB",  "Ascend910PremiumA",
    "Ascend950",      "Ascend999"};

}  // namespace

const Profile* profile() {
  const auto index = static_cast<std::size_t>(setting(Setting::kProfile));
  return index < 3 ? &kProfiles[index] : nullptr;
}

const char* soc_name() {
  if (profile() == nullptr) return nullptr;
  const char* const chosen = kSocs[setting(Setting::kSoc)];
  return chosen != nullptr ? chosen : profile()->soc;
}

std::uint64_t device_memory() {
  const std::int64_t set = setting(Setting::kMemory);
  if (set != 0) return static_cast<std::uint64_t>(set);
  return profile() == nullptr ? 0 : profile()->memory;
}

}  // namespace ascend_twin
