// The backend's entry point: opens IBM's library and looks whether there is an accelerator.
#include <array>

#include "backend_support/one_device_backend.h"
#include "backends/zdnn/device.h"
#include "backends/zdnn/options.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::zdnn {

namespace {

/// The default names of the library. All versions so far share the first name.
constexpr std::array kNames = {"libzdnn.so.0", "libzdnn.so"};
constexpr std::array kFiles = {LibraryFile{kNames}};

bool is_twin(const VendorLibrary& library) {
  const auto version = reinterpret_cast<decltype(Symbols::get_library_version_str)>(
      library.find("zdnn_get_library_version_str"));
  return version != nullptr && is_version_of_twin(version());
}

constexpr VendorRuntime kRuntime = {.backend = "zdnn",
                                    .description = "IBM's library for the accelerator of IBM Z",
                                    .files = kFiles,
                                    .is_twin = is_twin};

Result<std::unique_ptr<Backend>> create(const Options& options) {
  SHUNT_ASSIGN(auto library, VendorLibrary::open(kRuntime, options));
  SHUNT_ASSIGN(
      const Symbols symbols,
      bind_symbols<Symbols>(
          symbol_rows(), [&](const char* name) { return library->find(name); }, "version 1.0 has"));
  SHUNT_ASSIGN(auto machine, Machine::create(symbols, parse_out_of_range(options)));
  return std::make_unique<OneDeviceBackend>(
      "zdnn", std::make_unique<ZdnnDevice>(std::move(machine), std::move(library)));
}

}  // namespace

}  // namespace shunt::zdnn

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "zdnn", shunt::zdnn::create,
                                            shunt::zdnn::option_table()};
  return &entry;
}
