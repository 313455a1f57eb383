// Plugins of several kinds for the registry's tests, without devices.
#include <array>
#include <stdexcept>

#include "plugins/variant.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace {

struct Variant {
  std::string_view name;  // of the backend, too
  const char* token = SHUNT_ABI_TOKEN;
  /// The name of a second option after "speed"; null: the plugin has no options.
  const char* option = nullptr;
  const char* default_value = "fast";
  bool throws = false;
  /// The name in the entry; null: the variant's.
  const char* entry_name = nullptr;
  bool has_name = true;
  bool has_create = true;
};
constexpr std::array kVariants = {
    Variant{.name = "good"},
    Variant{.name = "entryless"},  // its entry point has another name
    Variant{.name = "stale", .token = "of-yesterday"},
    Variant{.name = "throwing", .throws = true},
    // Malformed entries.
    Variant{.name = "unnamed", .has_name = false},
    Variant{.name = "misnamed", .entry_name = "a.b"},
    Variant{.name = "createless", .has_create = false},
    // Options of its own; and tables of options that make no sense.
    Variant{.name = "tunable", .option = "depth_2"},
    Variant{.name = "twice", .option = "speed"},
    Variant{.name = "upper", .option = "Depth"},
    Variant{.name = "dotted", .option = "a.b"},
    Variant{.name = "nameless", .option = ""},
    Variant{.name = "reserved", .option = "library"},
    Variant{.name = "refusing", .option = "depth", .default_value = "deep"},
};

const Variant& variant() {
  return shunt::test::find_variant(kVariants);
}

class Empty final : public shunt::Backend {
 public:
  explicit Empty(std::string note) : note_(std::move(note)) {}
  std::string_view name() const override { return variant().name; }
  std::span<shunt::Device* const> devices() override { return {}; }
  std::string_view note() const override { return note_; }

 private:
  std::string note_;
};

shunt::Status check_speed(std::string_view text) {
  if (text == "slow" || text == "fast") return shunt::ok();
  return shunt::Error(shunt::ErrorCode::kInvalidArgument,
                      "\"" + std::string(text) + "\" is not slow or fast");
}
std::span<const shunt::BackendOption> plugin_options() {
  if (variant().option == nullptr) return {};
  static const std::array options = {
      shunt::BackendOption{"speed", "how fast it is: slow, fast", check_speed, "slow"},
      shunt::BackendOption{variant().option, "another one", check_speed, variant().default_value,
                           "SHUNT_OLD_NAME"},
  };
  return options;
}

/// Names the values of the plugin's options.
std::string note_of(const shunt::Options& options) {
  std::string note = "there is no such hardware here";
  for (const shunt::BackendOption& option : plugin_options()) {
    note += ", " + std::string(option.name) + " ";
    note += shunt::backend_option(options, variant().name, option.name);
  }
  return note;
}

shunt::Result<std::unique_ptr<shunt::Backend>> create(const shunt::Options& options) {
  if (variant().throws) throw std::runtime_error("the vendor's library is in a bad mood");
  return std::make_unique<Empty>(note_of(options));
}

}  // namespace

const shunt::BackendEntry* shunt::test::plugin_entry() {
  const char* const name =
      variant().entry_name != nullptr ? variant().entry_name : variant().name.data();
  static const BackendEntry entry = {variant().token, variant().has_name ? name : nullptr,
                                     variant().has_create ? create : nullptr, plugin_options()};
  return &entry;
}
