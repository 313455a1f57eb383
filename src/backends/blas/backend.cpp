// The backend's entry point: a BLAS library, and the threads of the CPU.
#include "backend_support/one_device_backend.h"
#include "backends/blas/device.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::blas {
namespace {

Result<std::unique_ptr<Backend>> create(const Options& options) {
  SHUNT_ASSIGN(auto library, Library::open(options));
  SHUNT_ASSIGN(auto threads, share_cpu_threads(options));
  const std::string note = library->note();
  auto device = std::make_unique<BlasDevice>(Context{std::move(library), std::move(threads)});
  return std::make_unique<OneDeviceBackend>("blas", std::move(device), note);
}

}  // namespace
}  // namespace shunt::blas

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "blas", shunt::blas::create};
  return &entry;
}
