// The backend's entry point: opens NVIDIA's driver and makes a device of each card.
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "shunt/abi_token.h"
#include "shunt/message.h"
#include "shunt/registry.h"

namespace shunt::cuda {

namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::vector<std::unique_ptr<CudaDevice>> devices, std::string note)
      : owned_(std::move(devices)), note_(std::move(note)) {
    for (const auto& device : owned_) devices_.push_back(device.get());
  }
  std::string_view name() const override { return "cuda"; }
  std::span<Device* const> devices() override { return devices_; }
  std::string_view note() const override { return note_; }

 private:
  std::vector<std::unique_ptr<CudaDevice>> owned_;
  std::vector<Device*> devices_;
  std::string note_;
};

Result<std::unique_ptr<CudaDevice>> open_device(const std::shared_ptr<Driver>& driver, int ordinal,
                                                const CudaOptions& options) {
  DeviceNumber number = 0;
  SHUNT_TRY(driver->check(driver->symbols().device_get(&number, ordinal),
                          name_of<&Symbols::device_get>()));
  return CudaDevice::create(driver, number, ordinal, options);
}

Result<std::unique_ptr<Backend>> create(const Options& options) {
  if (!has_modules()) {
    return fail(
        ErrorCode::kUnsupported,
        "this build has no CUDA kernels: install clang-19 and build again (./dev run --with cuda)");
  }
  SHUNT_ASSIGN(const auto driver, Driver::open(options));
  const CudaOptions parsed = parse_options(options);
  std::vector<std::unique_ptr<CudaDevice>> devices;
  std::vector<std::string> notes;
  for (const MissingFeature& missing : driver->missing())
    notes.push_back(missing.to_text("the driver", "CUDA"));
  // A device keeps its number, whatever the others' fate.
  for (int i = 0; i < driver->device_count(); ++i) {
    auto device = open_device(driver, i, parsed);
    if (device) {
      devices.push_back(std::move(*device));
    } else {
      notes.push_back(fmt::format("cuda{}: {}", i, to_text(device.error())));
    }
  }
  if (driver->device_count() == 0) {
    return fail(ErrorCode::kNotFound,
                "the driver has no devices; check with nvidia-smi that it sees them, and "
                "CUDA_VISIBLE_DEVICES");
  }
  std::string note = fmt::format("{}", fmt::join(notes, "; "));
  if (devices.empty()) return fail(ErrorCode::kUnsupported, "{}", note);
  if (parsed.peers) {
    std::vector<CudaDevice*> all;
    all.reserve(devices.size());
    for (const auto& device : devices) all.push_back(device.get());
    CudaDevice::connect(all);
  }
  return std::make_unique<CudaBackend>(std::move(devices), std::move(note));
}

}  // namespace

}  // namespace shunt::cuda

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "cuda", shunt::cuda::create,
                                            shunt::cuda::option_table()};
  return &entry;
}
