// Options of backends: how they are set, and which are errors.
#include "device/backend_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "shunt/registry.h"
#include "test_paths.h"

namespace shunt::test::device_backend_options_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Settings = std::map<std::string, std::map<std::string, std::string>>;

Options with_plugins(Settings settings = {}, std::map<std::string, std::string> environment = {}) {
  Options options;
  options.backend_path = SHUNT_TEST_PLUGINS;
  options.backend_options = std::move(settings);
  options.environment = std::move(environment);
  return options;
}

/// Null if there is none.
const BackendStatus* find(const Registry& registry, std::string_view name) {
  for (const BackendStatus& status : registry.backends()) {
    if (status.name == name) return &status;
  }
  return nullptr;
}

/// The values that the backend "tunable" got; its options are "speed" (slow) and "depth_2" (fast).
std::string note_of_tunable(const Options& options) {
  const auto registry = Registry::create(options);
  if (!registry) return registry.error().message();
  const BackendStatus* const status = find(**registry, "tunable");
  return status == nullptr || !status->loaded ? "off" : status->note;
}

/// The error, the same of both functions that check options; empty if there is none.
std::string error_of(const Options& options) {
  const Status checked = check_backend_options(options);
  const auto registry = Registry::create(options);
  EXPECT_EQ(checked.has_value(), registry.has_value());
  if (checked || registry) return "";
  EXPECT_EQ(checked.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(checked.error().message(), registry.error().message());
  return checked.error().message();
}

TEST(BackendOptions, PassSetAndDefaultValuesToTheBackend) {
  EXPECT_THAT(note_of_tunable(with_plugins()), HasSubstr("speed slow, depth_2 fast"));
  EXPECT_THAT(note_of_tunable(with_plugins({{"tunable", {{"speed", "fast"}}}})),
              HasSubstr("speed fast, depth_2 fast"));
}

TEST(BackendOptions, AreSetByEnvironmentVariables) {
  EXPECT_THAT(note_of_tunable(with_plugins(
                  {}, {{"SHUNT_TUNABLE_SPEED", "fast"}, {"SHUNT_TUNABLE_DEPTH_2", "slow"}})),
              HasSubstr("speed fast, depth_2 slow"));
  EXPECT_THAT(note_of_tunable(with_plugins({}, {{"SHUNT_OLD_NAME", "slow"}})),
              HasSubstr("speed slow, depth_2 slow"));
}

TEST(BackendOptions, MoreSpecificSettingsOverrideOthers) {
  const std::map<std::string, std::string> old_name = {{"SHUNT_OLD_NAME", "slow"}};
  auto both = old_name;
  both["SHUNT_TUNABLE_DEPTH_2"] = "fast";
  EXPECT_THAT(note_of_tunable(with_plugins({}, both)), HasSubstr("depth_2 fast"));
  both["SHUNT_TUNABLE_DEPTH_2"] = "slow";
  EXPECT_THAT(note_of_tunable(with_plugins({{"*", {{"depth_2", "fast"}}}}, both)),
              HasSubstr("depth_2 fast"));
  EXPECT_THAT(note_of_tunable(with_plugins(
                  {{"*", {{"depth_2", "fast"}}}, {"tunable", {{"depth_2", "slow"}}}}, old_name)),
              HasSubstr("depth_2 slow"));
}

TEST(BackendOptions, StatusListsAllOptions) {
  const auto registry = Registry::create(with_plugins({{"tunable", {{"speed", "fast"}}}}));
  ASSERT_TRUE(registry);
  const BackendStatus* const status = find(**registry, "tunable");
  ASSERT_NE(status, nullptr);
  ASSERT_EQ(status->options.size(), 2U);
  const OptionStatus& speed = status->options[0];
  EXPECT_THAT(
      (std::vector{speed.name, speed.help, speed.default_value, speed.value, speed.variable}),
      ElementsAre("speed", "how fast it is: slow, fast", "slow", "fast", "SHUNT_TUNABLE_SPEED"));
  EXPECT_EQ(status->options[1].name, "depth_2");
}

TEST(BackendOptions, UnknownOptionIsAnErrorThatListsTheOptions) {
  EXPECT_THAT(error_of(with_plugins({{"tunable", {{"sped", "fast"}}}})),
              HasSubstr("tunable.sped: the backend tunable has no option \"sped\"; its options: "
                        "speed, depth_2"));
  EXPECT_THAT(error_of(with_plugins({{"good", {{"sped", "fast"}}}})),
              HasSubstr("the backend good has no options"));
  EXPECT_THAT(error_of(with_plugins({}, {{"SHUNT_TUNABLE_SPED", "fast"}})),
              HasSubstr("SHUNT_TUNABLE_SPED: the backend tunable has no option \"sped\"; its "
                        "options: speed, depth_2"));
}

TEST(BackendOptions, UnknownBackendIsAnErrorThatListsBackendsWithOptions) {
  const std::string error = error_of(with_plugins({{"tuneable", {{"speed", "fast"}}}}));
  EXPECT_THAT(error, AllOf(HasSubstr("tuneable.speed: there is no backend \"tuneable\"; backends "
                                     "with options: "),
                           HasSubstr("tunable (speed, depth_2)"), testing::Not(HasSubstr("good"))));
  // One that is not available, as it is of another build: its options are unknown.
  EXPECT_THAT(error_of(with_plugins({{"stale", {{"speed", "fast"}}}})),
              HasSubstr("tunable (speed, depth_2)"));
  EXPECT_THAT(error_of(with_plugins({{"*", {{"sped", "fast"}}}})),
              AllOf(HasSubstr("no backend has an option \"sped\""), HasSubstr("tunable (speed")));
}

TEST(BackendOptions, InvalidValueIsAnErrorThatListsTheValues) {
  EXPECT_EQ(error_of(with_plugins({{"tunable", {{"speed", "Fast"}}}})),
            "tunable.speed: \"Fast\" is not slow or fast");
  EXPECT_EQ(error_of(with_plugins({{"tunable", {{"speed", ""}}}})),
            "tunable.speed: \"\" is not slow or fast");
  EXPECT_EQ(error_of(with_plugins({{"*", {{"speed", "1"}}}})),
            "*.speed: \"1\" is not slow or fast");
  for (const char* variable : {"SHUNT_TUNABLE_SPEED", "SHUNT_OLD_NAME"}) {
    EXPECT_EQ(error_of(with_plugins({}, {{variable, "on"}})),
              std::string(variable) + ": \"on\" is not slow or fast");
  }
}

TEST(BackendOptions, VariablesOfNoBackendAreIgnored) {
  EXPECT_EQ(error_of(with_plugins({}, {{"SHUNT_TUNABL_SPEED", "x"}, {"SHUNT_TOP_SECRET", "y"}})),
            "");
}

/// Settings are checked before the backend is created.
TEST(BackendOptions, AreCheckedBeforeTheBackendIsCreated) {
  EXPECT_THAT(error_of(with_plugins({{"throwing", {{"speed", "fast"}}}})),
              HasSubstr("the backend throwing has no options"));
}

struct BadTable {
  const char* backend;
  const char* note;
};
class InvalidOptionTable : public testing::TestWithParam<BadTable> {};

TEST_P(InvalidOptionTable, DisablesTheBackend) {
  const auto registry = Registry::create(with_plugins());
  ASSERT_TRUE(registry);
  const BackendStatus* const status = find(**registry, GetParam().backend);
  ASSERT_NE(status, nullptr);
  EXPECT_FALSE(status->loaded);
  EXPECT_THAT(status->note, HasSubstr(GetParam().note));
  EXPECT_TRUE(status->options.empty());
  EXPECT_THAT(error_of(with_plugins({{GetParam().backend, {{"speed", "fast"}}}})),
              HasSubstr("there is no backend"));
}

INSTANTIATE_TEST_SUITE_P(
    , InvalidOptionTable,
    testing::Values(BadTable{"twice", "it has two options \"speed\""},
                    BadTable{"upper", "\"Depth\" has a name that is not [a-z][a-z0-9_]*"},
                    BadTable{"dotted", "\"a.b\" has a name that is not [a-z][a-z0-9_]*"},
                    BadTable{"nameless", "\"\" has a name that is not [a-z][a-z0-9_]*"},
                    BadTable{"reserved", "\"library\" has a name that is reserved"},
                    BadTable{"refusing",
                             "the default of its option \"depth\" is refused: "
                             "\"deep\" is not slow or fast"}),
    [](const auto& test) { return std::string(test.param.backend); });

Status accept(std::string_view) {
  return ok();
}

TEST(OptionTables, HaveNamesOfLowerCaseLettersDigitsAndUnderscores) {
  for (const char* name : {"a", "z9", "depth_2", "a_", "librar", "library_2"}) {
    EXPECT_TRUE(check_option_table(std::array{BackendOption{name, "", accept, ""}})) << name;
  }
  for (const char* name : {"", "2fast", "_a", "A", "aB", "a-b", "a b", "a ", "a=b", "\xc3\xa4",
                           "a\n", "{a", "`a", "a:", "a/"}) {
    const Status status = check_option_table(std::array{BackendOption{name, "", accept, ""}});
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(),
                AllOf(HasSubstr(name), HasSubstr("is not [a-z][a-z0-9_]*")));
  }
}

/// Their variables would be those of libraries of other backends.
TEST(OptionTables, RejectNamesReservedForLibraries) {
  for (const char* name : {"library", "math_library", "a__library"}) {
    const Status status = check_option_table(std::array{BackendOption{name, "", accept, ""}});
    ASSERT_FALSE(status) << name;
    EXPECT_THAT(status.error().message(), AllOf(HasSubstr(name), HasSubstr("is reserved")));
  }
}

TEST(OptionTables, RejectDuplicateNames) {
  const BackendOption first{"speed", "", accept, ""};
  const BackendOption other{"depth", "", accept, ""};
  EXPECT_TRUE(check_option_table({}));
  EXPECT_TRUE(check_option_table(std::array{first, other}));
  const Status status = check_option_table(std::array{first, other, first});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message(), "it has two options \"speed\"");
}

TEST(OptionTables, RejectAnOptionWithoutACheck) {
  const Status status = check_option_table(std::array{BackendOption{"speed", "", nullptr, ""}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message(), "its option \"speed\" has no check");
}

}  // namespace
}  // namespace shunt::test::device_backend_options_test
