// Plugins of several kinds for the registry's tests, told apart by definitions (see
// tests/CMakeLists.txt).
#include <array>
#include <stdexcept>

#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace {

class Empty final : public shunt::Backend {
 public:
  explicit Empty(std::string note) : note_(std::move(note)) {}
  std::string_view name() const override { return SHUNT_TEST_PLUGIN; }
  std::span<shunt::Device* const> devices() override { return {}; }
  std::string_view note() const override { return note_; }

 private:
  std::string note_;
};

#ifdef SHUNT_TEST_PLUGIN_OPTION
shunt::Status check_speed(std::string_view text) {
  if (text == "slow" || text == "fast") return shunt::ok();
  return shunt::Error(shunt::ErrorCode::kInvalidArgument,
                      "\"" + std::string(text) + "\" is not slow or fast");
}
constexpr std::array kOptions = {
    shunt::BackendOption{"speed", "how fast it is: slow, fast", check_speed, "slow"},
    shunt::BackendOption{SHUNT_TEST_PLUGIN_OPTION, "another one", check_speed,
                         SHUNT_TEST_PLUGIN_DEFAULT, "SHUNT_OLD_NAME"},
};
#else
constexpr std::span<const shunt::BackendOption> kOptions = {};
#endif

/// Says what its options are set to.
std::string note_of([[maybe_unused]] const shunt::Options& options) {
  std::string note = "there is no such hardware here";
  for (const shunt::BackendOption& option : kOptions) {
    note += ", " + std::string(option.name) + " ";
    note += shunt::backend_option(options, SHUNT_TEST_PLUGIN, option.name);
  }
  return note;
}

shunt::Result<std::unique_ptr<shunt::Backend>> create(const shunt::Options& options) {
  [[maybe_unused]] std::string note = note_of(options);
#ifdef SHUNT_TEST_PLUGIN_THROWS
  throw std::runtime_error("the vendor's library is in a bad mood");
#else
  return std::make_unique<Empty>(std::move(note));
#endif
}

}  // namespace

extern "C" const shunt::BackendEntry* SHUNT_TEST_PLUGIN_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_TEST_PLUGIN_TOKEN, SHUNT_TEST_PLUGIN, create,
                                            kOptions};
  return &entry;
}
