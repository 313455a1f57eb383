// The table of settings: names, values, the environment, the calls on a change.
#include "common/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

int changes = 0;

constexpr twin::SettingRow kRows[] = {
    {.name = "TWIN_TEST_COLOUR",
     .at_first = 1,
     .choices = {{{"red", 0}, {"green", 1}, {"blue", 7}}},
     .changed = [] { ++changes; }},
    {.name = "TWIN_TEST_NUMBER", .at_first = 0xF000},
    {.name = "TWIN_TEST_FAULT", .at_first = 0, .is_fault = true},
    {.name = "TWIN_TEST_LIST",
     .at_first = 2,
     .choices = {{{"one", 1}, {"two", 2}, {"many", 127}}},
     .is_list = true},
    {.name = "TWIN_TEST_RANGE", .at_first = 2, .allows = twin::is_between<2, 9>},
};
enum Row : std::size_t { kColour, kNumber, kFault, kList, kRange };

class TwinSettings : public testing::Test {
 protected:
  TwinSettings() {
    clear();
    settings.read_environment();
    changes = 0;
  }
  ~TwinSettings() override { clear(); }
  static void clear() {
    for (const auto& row : kRows) unsetenv(row.name);
  }
  std::string read() {
    testing::internal::CaptureStderr();
    settings.read_environment();
    return testing::internal::GetCapturedStderr();
  }

  twin::Settings settings{"Test", kRows};
};

TEST_F(TwinSettings, InitialValuesComeFromTheTable) {
  EXPECT_EQ(settings.value(kColour), 1);
  EXPECT_EQ(settings.value(kNumber), 0xF000);
  EXPECT_EQ(settings.value(kFault), 0);
}

TEST_F(TwinSettings, ChoicesAndNumbersAreSetByName) {
  EXPECT_TRUE(settings.set("TWIN_TEST_COLOUR", "blue"));
  EXPECT_EQ(settings.value(kColour), 7);
  EXPECT_TRUE(settings.set("TWIN_TEST_NUMBER", "0x12"));
  EXPECT_EQ(settings.value(kNumber), 18);
  EXPECT_TRUE(settings.set("TWIN_TEST_NUMBER", "12"));
  EXPECT_EQ(settings.value(kNumber), 12);
}

TEST_F(TwinSettings, UnknownNamesAndValuesChangeNothing) {
  for (const char* value : {"Red", "", "1", "blu", "bluer"})
    EXPECT_FALSE(settings.set("TWIN_TEST_COLOUR", value)) << value;
  for (const char* value : {"", "-1", "1 ", "red", "3+", "0x", "4611686018427387904",
                            "18446744073709551616", "99999999999999999999999"})
    EXPECT_FALSE(settings.set("TWIN_TEST_NUMBER", value)) << value;
  EXPECT_FALSE(settings.set("TWIN_TEST", "1"));
  EXPECT_FALSE(settings.set("", "1"));
  EXPECT_FALSE(settings.set(nullptr, "1"));
  EXPECT_FALSE(settings.set("TWIN_TEST_NUMBER", nullptr));
  EXPECT_EQ(settings.value(kColour), 1);
  EXPECT_EQ(settings.value(kNumber), 0xF000);
  EXPECT_EQ(changes, 0);
}

TEST_F(TwinSettings, LargestNumberIs2To62MinusOne) {
  EXPECT_TRUE(settings.set("TWIN_TEST_NUMBER", "4611686018427387903"));
  EXPECT_EQ(settings.value(kNumber), (std::int64_t{1} << 62) - 1);
}

TEST_F(TwinSettings, ListsHaveOneToEightChoices) {
  const auto items = [&] {
    std::vector<std::int64_t> list;
    for (unsigned i = 0; i < twin::count_items(settings.value(kList)); ++i)
      list.push_back(twin::item_of(settings.value(kList), i));
    return list;
  };
  using Items = std::vector<std::int64_t>;
  EXPECT_EQ(items(), Items{2});
  EXPECT_TRUE(settings.set("TWIN_TEST_LIST", "one"));
  EXPECT_EQ(items(), Items{1});
  EXPECT_TRUE(settings.set("TWIN_TEST_LIST", "many,one,one,two,many,many,many,many"));
  EXPECT_EQ(items(), (Items{127, 1, 1, 2, 127, 127, 127, 127}));
  for (const char* value : {"", ",", "one,", ",one", "one,,two", "one, two", "one,three", "on,e",
                            "one;two", "1", "one,one,one,one,one,one,one,one,one"})
    EXPECT_FALSE(settings.set("TWIN_TEST_LIST", value)) << value;
  EXPECT_EQ(items().size(), 8u);
  setenv("TWIN_TEST_LIST", "two,one", 1);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(items(), (Items{2, 1}));
  setenv("TWIN_TEST_LIST", "two,none", 1);
  EXPECT_EQ(read(), "Test twin: TWIN_TEST_LIST=two,none is unknown and left out\n");
  EXPECT_EQ(items(), Items{2});
}

TEST_F(TwinSettings, NumbersMayHaveARange) {
  EXPECT_TRUE(settings.set("TWIN_TEST_RANGE", "9"));
  for (const char* value : {"1", "10", "4611686018427387903"}) {
    EXPECT_FALSE(settings.set("TWIN_TEST_RANGE", value)) << value;
  }
  EXPECT_EQ(settings.value(kRange), 9);
  setenv("TWIN_TEST_RANGE", "1", 1);
  EXPECT_EQ(read(), "Test twin: TWIN_TEST_RANGE=1 is unknown and left out\n");
  EXPECT_EQ(settings.value(kRange), 2);
}

TEST_F(TwinSettings, TheEnvironmentReplacesRunTimeValues) {
  settings.set("TWIN_TEST_COLOUR", "blue");
  setenv("TWIN_TEST_NUMBER", "5", 1);
  EXPECT_EQ(read(), "");
  EXPECT_EQ(settings.value(kColour), 1);
  EXPECT_EQ(settings.value(kNumber), 5);
}

TEST_F(TwinSettings, UnknownEnvironmentValuesAreReportedAndIgnored) {
  setenv("TWIN_TEST_COLOUR", "pink", 1);
  setenv("TWIN_TEST_NUMBER", "5", 1);
  EXPECT_EQ(read(), "Test twin: TWIN_TEST_COLOUR=pink is unknown and left out\n");
  EXPECT_EQ(settings.value(kColour), 1);
  EXPECT_EQ(settings.value(kNumber), 5);
}

TEST_F(TwinSettings, EachStoredValueCallsItsCallback) {
  settings.set("TWIN_TEST_COLOUR", "red");
  EXPECT_EQ(changes, 1);
  settings.set("TWIN_TEST_NUMBER", "1");
  EXPECT_EQ(changes, 1);
  settings.read_environment();
  EXPECT_EQ(changes, 2);
}

TEST_F(TwinSettings, SettingAFaultRestartsItsCount) {
  settings.set("TWIN_TEST_FAULT", "2");
  EXPECT_FALSE(settings.fault_is_due(kFault));
  settings.set("TWIN_TEST_FAULT", "2");
  EXPECT_FALSE(settings.fault_is_due(kFault));
  EXPECT_TRUE(settings.fault_is_due(kFault));
  EXPECT_FALSE(settings.fault_is_due(kFault));
  setenv("TWIN_TEST_FAULT", "1+", 1);
  EXPECT_EQ(read(), "");
  EXPECT_TRUE(settings.fault_is_due(kFault));
  EXPECT_TRUE(settings.fault_is_due(kFault));
}

}  // namespace
