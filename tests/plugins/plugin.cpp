// Plugins of several kinds for the registry's tests, told apart by definitions (see
// tests/CMakeLists.txt).
#include <stdexcept>

#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace {

class Empty final : public shunt::Backend {
 public:
  std::string_view name() const override { return SHUNT_TEST_PLUGIN; }
  std::span<shunt::Device* const> devices() override { return {}; }
  std::string_view note() const override { return "there is no such hardware here"; }
};

shunt::Result<std::unique_ptr<shunt::Backend>> create(const shunt::Options&) {
#ifdef SHUNT_TEST_PLUGIN_THROWS
  throw std::runtime_error("the vendor's library is in a bad mood");
#else
  return std::make_unique<Empty>();
#endif
}

}  // namespace

extern "C" const shunt::BackendEntry* SHUNT_TEST_PLUGIN_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_TEST_PLUGIN_TOKEN, SHUNT_TEST_PLUGIN, create};
  return &entry;
}
