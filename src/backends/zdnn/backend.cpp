// The backend's entry point: opens IBM's library and looks whether there is an accelerator.
#include <array>

#include "backends/zdnn/device.h"
#include "base/dynamic_library.h"
#include "base/fail.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::zdnn {

namespace {

/// What the library is called where nobody says otherwise. All versions so far share the first
/// name.
constexpr std::array kNames = {"libzdnn.so.0", "libzdnn.so"};

class ZdnnBackend final : public Backend {
 public:
  ZdnnBackend(DynamicLibrary library, std::unique_ptr<Machine> machine)
      : library_(std::move(library)), device_(std::move(machine)), devices_{&device_} {}
  std::string_view name() const override { return "zdnn"; }
  std::span<Device* const> devices() override { return devices_; }

 private:
  DynamicLibrary library_;  // goes last: the device calls into it
  ZdnnDevice device_;
  std::array<Device*, 1> devices_;
};

Result<DynamicLibrary> open(const Options& options) {
  const auto given = options.libraries.find("zdnn");
  if (given != options.libraries.end()) return DynamicLibrary::open(given->second);
  std::string why;
  for (const char* const name : kNames) {
    auto library = DynamicLibrary::open(name);
    if (library) return library;
    if (why.empty()) why = library.error().message();
  }
  return fail(ErrorCode::kNotFound, "IBM's library for the accelerator of IBM Z is not there: {}",
              why);
}

Result<std::unique_ptr<Backend>> create(const Options& options) {
  SHUNT_ASSIGN(DynamicLibrary library, open(options));
  SHUNT_ASSIGN(const Symbols symbols,
               bind_symbols([&](const char* name) { return library.find(name); }));
  SHUNT_ASSIGN(auto machine, Machine::create(symbols, options.out_of_range));
  if (machine->is_twin() && !options.libraries.contains("zdnn")) {
    return fail(ErrorCode::kNotFound,
                "the {} that the system has is a twin, which is used only where its path is given: "
                "--library zdnn=PATH",
                kNames.front());
  }
  return std::make_unique<ZdnnBackend>(std::move(library), std::move(machine));
}

}  // namespace

}  // namespace shunt::zdnn

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "zdnn", shunt::zdnn::create};
  return &entry;
}
