// A folder of SHUNT_BACKEND_PATH that could not be read was ignored, so that a mistyped path looked
// like a missing backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shunt/registry.h"
#include "support/gguf_bytes.h"

namespace shunt::test::unreadable_plugin_folder_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<BackendStatus> notes_about_folders(const std::string& path) {
  Options options;
  options.backend_path = path;
  const auto registry = Registry::create(options);
  EXPECT_TRUE(registry) << registry.error().message();
  std::vector<BackendStatus> notes;
  for (const BackendStatus& status : (*registry)->backends()) {
    if (status.name == "plugins") notes.push_back(status);
  }
  return notes;
}

class UnreadablePluginFolder : public ::testing::Test {
 protected:
  UnreadablePluginFolder() { std::filesystem::create_directories(folder_ / "empty"); }

  const TempFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(UnreadablePluginFolder, ReadableFoldersAndEmptyElementsHaveNoNote) {
  EXPECT_TRUE(notes_about_folders("").empty());
  EXPECT_TRUE(notes_about_folders(":" + (folder_ / "empty").string() + ":").empty());
}

TEST_F(UnreadablePluginFolder, HasANoteWithItsPathAndTheReason) {
  const std::string missing = folder_ / "missing";
  const std::string file = folder_ / "file";
  const std::string loop = folder_ / "loop";
  std::ofstream(file) << "not a folder";
  std::filesystem::create_symlink(loop, loop);
  const auto notes = notes_about_folders(missing + ":" + file + ":" + loop);
  ASSERT_EQ(notes.size(), 3U);
  const std::pair<std::string, const char*> expected[] = {
      {missing, "No such file or directory"},
      {file, "Not a directory"},
      {loop, "Too many levels of symbolic links"}};
  for (std::size_t i = 0; i < notes.size(); ++i) {
    EXPECT_FALSE(notes[i].loaded);
    EXPECT_EQ(notes[i].origin, expected[i].first);
    EXPECT_THAT(notes[i].note, AllOf(HasSubstr(expected[i].first), HasSubstr(expected[i].second)));
  }
}

TEST_F(UnreadablePluginFolder, IsNamedInTheErrorOfAMissingDevice) {
  Options options;
  options.backend_path = folder_ / "missing";
  const auto registry = Registry::create(options);
  ASSERT_TRUE(registry) << registry.error().message();
  const auto device = (*registry)->find("gpu7");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message(), HasSubstr((folder_ / "missing").string()));
}

}  // namespace
}  // namespace shunt::test::unreadable_plugin_folder_test
