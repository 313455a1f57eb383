#include "support/tested_devices.h"

namespace shunt::test {

TestedDevices::TestedDevices(std::string_view name, int threads) {
  Options options;
  if (name.starts_with("cuda")) {
    twin_.emplace();
    if (!twin_->there()) return;
    options = twin_->options();
  }
  options.threads = threads;
  auto registry = Registry::create(options);
  if (!registry) return;
  registry_ = std::move(*registry);
  const auto devices = registry_->select(std::vector{std::string(name)});
  if (devices) devices_ = *devices;
}

}  // namespace shunt::test
