#include "support/tested_devices.h"

namespace shunt::test {

TestedDevices::TestedDevices(std::string_view name, int threads) {
  Options options;
  if (name.starts_with("cuda")) {
    cuda_.emplace();
    if (!cuda_->there()) return;
    options = cuda_->options();
  } else if (name.starts_with("cann")) {
    ascend_.emplace();
    if (!ascend_->there()) return;
    ascend_->set("STRICT", "status");
    options = ascend_->options();
  }
  options.threads = threads;
  auto registry = Registry::create(options);
  if (!registry) return;
  registry_ = std::move(*registry);
  const auto devices = registry_->select(std::vector{std::string(name)});
  if (devices) devices_ = *devices;
}

}  // namespace shunt::test
