// The part that differs between two plugins from the same source (variant.h): the variant's name
// and the name of the entry point. It includes nothing, since it is compiled for each plugin.
namespace shunt {
struct BackendEntry;
namespace test {

[[gnu::visibility("hidden")]] extern const char* const plugin_variant;
const char* const plugin_variant = SHUNT_TEST_PLUGIN_VARIANT;
[[gnu::visibility("hidden")]] const BackendEntry* plugin_entry();

}  // namespace test
}  // namespace shunt

extern "C" const shunt::BackendEntry* SHUNT_TEST_PLUGIN_ENTRY() {
  return shunt::test::plugin_entry();
}
