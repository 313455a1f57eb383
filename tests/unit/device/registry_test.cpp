#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "shunt/registry.h"
#include "test_paths.h"

namespace shunt::device_registry_test {
namespace {

using ::testing::HasSubstr;

const BackendStatus* find(const Registry& registry, std::string_view name) {
  for (const BackendStatus& status : registry.backends()) {
    if (status.name == name) return &status;
  }
  return nullptr;
}

std::unique_ptr<Registry> with_plugins(const std::string& path = SHUNT_TEST_PLUGINS) {
  Options options;
  options.backend_path = path;
  auto registry = Registry::create(options);
  EXPECT_TRUE(registry) << registry.error().message();
  return std::move(*registry);
}

TEST(Registry, LoadsAPluginOfThisBuild) {
  const auto registry = with_plugins();
  const BackendStatus* good = find(*registry, "good");
  ASSERT_NE(good, nullptr);
  EXPECT_TRUE(good->loaded);
  EXPECT_EQ(good->note, "there is no such hardware here");
  EXPECT_THAT(good->origin, HasSubstr("shunt-backend-good.so"));
}

TEST(Registry, SkipsAPluginOfAnotherBuildWithAReason) {
  const auto registry = with_plugins();
  const BackendStatus* stale = find(*registry, "stale");
  ASSERT_NE(stale, nullptr);
  EXPECT_FALSE(stale->loaded);
  EXPECT_THAT(stale->note, HasSubstr("of-yesterday"));
  EXPECT_THAT(stale->note, HasSubstr(abi_token()));
}

TEST(Registry, SkipsPluginsWithoutEntryPointThatThrowOrAreNoLibrary) {
  const auto folder = std::filesystem::temp_directory_path() / "shunt-registry-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "shunt-backend-garbage.so") << "this is not a library";
  std::ofstream(folder / "unrelated.so") << "nor is this, but nobody looks";
  const auto registry =
      with_plugins(SHUNT_TEST_PLUGINS ":" + folder.string() + "::/no/such/folder");
  std::filesystem::remove_all(folder);
  for (const auto& [name, note] : {std::pair("entryless", "no entry point"),
                                   {"unnamed", "no name"},
                                   {"a.b", "[a-z][a-z0-9_]*"},
                                   {"createless", "no function that creates"},
                                   {"throwing", "bad mood"},
                                   {"garbage", "can't be loaded"}}) {
    const BackendStatus* status = find(*registry, name);
    ASSERT_NE(status, nullptr) << name;
    EXPECT_FALSE(status->loaded);
    EXPECT_THAT(status->note, HasSubstr(note));
  }
  EXPECT_EQ(find(*registry, "unrelated"), nullptr);
}

TEST(Registry, LoadsTheFirstOfTwoBackendsWithTheSameName) {
  const auto registry = with_plugins(SHUNT_TEST_PLUGINS ":" SHUNT_TEST_PLUGINS);
  int loaded = 0, left_out = 0;
  for (const BackendStatus& status : registry->backends()) {
    if (status.name != "good") continue;
    (status.loaded ? loaded : left_out) += 1;
    EXPECT_THAT(status.note,
                HasSubstr(status.loaded ? "no such hardware" : "is registered already"));
  }
  EXPECT_EQ(loaded, 1);
  EXPECT_EQ(left_out, 1);
}

TEST(Registry, NotesALibraryForAnUnknownBackend) {
  Options options;
  options.backend_path = SHUNT_TEST_PLUGINS;
  options.libraries = {{"goood", "/of/nobody.so"}, {"good", "/of/a/plugin.so"}};
  const auto registry = Registry::create(options);
  ASSERT_TRUE(registry) << registry.error().message();
  const BackendStatus* mistyped = find(**registry, "goood");
  ASSERT_NE(mistyped, nullptr);
  EXPECT_FALSE(mistyped->loaded);
  EXPECT_EQ(mistyped->origin, "/of/nobody.so");
  EXPECT_THAT(mistyped->note, HasSubstr("there is no such backend; the backends are: "));
  EXPECT_THAT(mistyped->note, HasSubstr("entryless, good, "));
  EXPECT_TRUE(find(**registry, "good")->loaded);
}

TEST(Registry, CpuIsTheLastDeviceOfEverySelection) {
  const auto registry = with_plugins();
  if (!registry->find("cpu0")) GTEST_SKIP() << "there is no CPU backend in this build";
  const auto all = registry->select({});
  ASSERT_TRUE(all);
  ASSERT_FALSE(all->empty());
  EXPECT_EQ(all->back()->info().kind, DeviceKind::kCpu);
  for (Device* device : *all) EXPECT_NE(device->info().kind, DeviceKind::kNull);
  const std::vector<std::string> twice = {"cpu0", "cpu0"};
  EXPECT_EQ(registry->select(twice)->size(), 1U);
  if (!registry->find("null0")) return;
  const std::vector<std::string> named = {"null0"};
  const auto selected = registry->select(named);
  ASSERT_TRUE(selected);
  ASSERT_EQ(selected->size(), 2U);
  EXPECT_EQ((*selected)[0]->info().name, "null0");
  EXPECT_EQ((*selected)[1]->info().name, "cpu0");
}

TEST(Registry, DeviceNameEqualsTheNameInItsInfo) {
  const auto registry = with_plugins();
  for (Device* device : registry->devices()) EXPECT_EQ(device->name(), device->info().name);
}

TEST(Registry, UnknownDeviceIsNotFoundAndListsTheDevices) {
  const auto registry = with_plugins();
  const auto device = registry->find("gpu7");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(device.error().message(), HasSubstr("gpu7"));
  for (Device* each : registry->devices())
    EXPECT_THAT(device.error().message(), HasSubstr(each->info().name));
}

TEST(Registry, CpuWithInvalidOptionsStaysOffWithAReason) {
  Options options;
  options.threads = -1;
  auto registry = Registry::create(options);
  ASSERT_TRUE(registry);
  const BackendStatus* cpu = find(**registry, "cpu");
  if (cpu == nullptr) GTEST_SKIP() << "there is no CPU backend in this build";
  EXPECT_FALSE(cpu->loaded);
  EXPECT_THAT(cpu->note, HasSubstr("threads"));
  // A caller that asks for it gets the reason as well.
  const auto device = (*registry)->find("cpu0");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message(), HasSubstr("cpu is not available: " + cpu->note));
}

}  // namespace
}  // namespace shunt::device_registry_test
