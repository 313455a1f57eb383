// The backend's entry point: opens the vendor's libraries and makes a device of each NPU.
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "backends/cann/device.h"
#include "shunt/abi_token.h"
#include "shunt/message.h"
#include "shunt/registry.h"

namespace shunt::cann {

namespace {

class CannBackend final : public Backend {
 public:
  CannBackend(std::vector<std::unique_ptr<CannDevice>> devices, std::string note)
      : owned_(std::move(devices)), note_(std::move(note)) {
    for (const auto& device : owned_) devices_.push_back(device.get());
  }
  std::string_view name() const override { return "cann"; }
  std::span<Device* const> devices() override { return devices_; }
  std::string_view note() const override { return note_; }

 private:
  std::vector<std::unique_ptr<CannDevice>> owned_;
  std::vector<Device*> devices_;
  std::string note_;
};

Result<std::unique_ptr<Backend>> create(const Options& options) {
  SHUNT_ASSIGN(const auto runtime, Runtime::open(options));
  if (runtime->device_count() == 0) {
    return fail(ErrorCode::kNotFound,
                "the driver has no devices; check with npu-smi info that it sees them, and "
                "ASCEND_RT_VISIBLE_DEVICES");
  }
  const CannOptions parsed = parse_options(options);
  std::vector<std::unique_ptr<CannDevice>> devices;
  std::vector<std::string> notes = runtime->notes();
  // A device keeps its number, whatever the others' fate.
  for (int i = 0; i < runtime->device_count(); ++i) {
    auto device = CannDevice::create(runtime, i, parsed);
    if (device) {
      if (!(*device)->note().empty()) notes.push_back((*device)->note());
      devices.push_back(std::move(*device));
    } else {
      notes.push_back(fmt::format("cann{}: {}", i, to_text(device.error())));
    }
  }
  std::string note = fmt::format("{}", fmt::join(notes, "; "));
  if (devices.empty()) return fail(ErrorCode::kUnsupported, "{}", note);
  if (parsed.peers) {
    std::vector<CannDevice*> all;
    all.reserve(devices.size());
    for (const auto& device : devices) all.push_back(device.get());
    CannDevice::connect(all);
  }
  return std::make_unique<CannBackend>(std::move(devices), std::move(note));
}

}  // namespace

}  // namespace shunt::cann

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "cann", shunt::cann::create,
                                            shunt::cann::option_table()};
  return &entry;
}
