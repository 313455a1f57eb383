// The two layouts: which library has which function, one state for all, and copies that lack
// functions.
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "capture_support.h"
#include "without.h"

namespace ascend_test::layout_tests {
namespace {

namespace fs = std::filesystem;

const fs::path kLists = fs::path(TWIN_TEST_FOLDER) / "../../../twins/ascend";
const fs::path kFolders = fs::path(ASCEND_TWIN_PATH).parent_path().parent_path();

struct Row {
  std::string folder, file;
  std::vector<std::string> lists;
};

std::vector<Row> rows() {
  std::ifstream file(kLists / "libraries.txt");
  std::vector<Row> all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Row row;
    std::string version;
    words >> row.folder >> row.file >> version;
    if (row.folder.empty() || row.folder[0] == '#') continue;
    for (std::string list; words >> list;) row.lists.push_back(list);
    all.push_back(row);
  }
  return all;
}

std::vector<std::string> names_of(const std::string& list) {
  std::ifstream file(kLists / (list + ".txt"));
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.push_back(line);
  }
  return names;
}

class Library {
 public:
  explicit Library(const fs::path& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void* find(const std::string& name) const { return dlsym(handle_, name.c_str()); }

 private:
  void* handle_;
};

class LayoutTest : public TwinTest {};

TEST_F(LayoutTest, EachLibraryHasItsNamesAndNotThoseOfOthers) {
  ASSERT_EQ(rows().size(), 11U);
  std::map<std::string, std::vector<std::string>> lists;  // of a folder
  for (const Row& row : rows()) {
    auto& of_folder = lists[row.folder];
    of_folder.insert(of_folder.end(), row.lists.begin(), row.lists.end());
  }
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.folder + "/" + row.file);
    const Library library(kFolders / row.folder / row.file);
    for (const std::string& list : lists[row.folder]) {
      const bool own = std::find(row.lists.begin(), row.lists.end(), list) != row.lists.end();
      for (const std::string& name : names_of(list))
        EXPECT_EQ(library.find(name) != nullptr, own) << name;
    }
  }
}

TEST_F(LayoutTest, NewerFunctionsAreInTheNewerLayoutOnly) {
  const Library old(ASCEND_TWIN_PATH);
  const Library split(ASCEND_TWIN_9_0_PATH);
  for (const char* name : {"aclmdlRIExecute", "aclmdlRIAbort", "aclmdlRIDebugJsonPrint"}) {
    EXPECT_EQ(old.find(name), nullptr) << name;
    EXPECT_NE(split.find(name), nullptr) << name;
  }
  EXPECT_NE(old.find("aclmdlRIExecuteAsync"), nullptr);
  // Absent from the headers of 8.1 (the vendor's documentation of 9.1 has them).
  for (const char* name :
       {"aclFinalizeReference", "aclrtCtxGetCurrentDefaultStream", "aclrtDevicePeerAccessStatus",
        "aclrtFreeWithDevSync", "aclrtGetDeviceInfo", "aclrtHostRegisterV2",
        "aclrtHostGetDevicePointer", "aclrtLaunchHostFunc", "aclrtMemSetAccess", "aclrtMemcpyBatch",
        "aclrtMemcpyBatchAsync", "aclrtGetStreamAvailableNum", "aclsysGetVersionStr"}) {
    EXPECT_EQ(old.find(name), nullptr) << name;
    EXPECT_NE(split.find(name), nullptr) << name;
  }
}

TEST_F(LayoutTest, FirstLibraryOfAFolderHasTheTwinsOwnFunctions) {
  std::string folder;
  for (const Row& row : rows()) {
    const Library library(kFolders / row.folder / row.file);
    const bool first = row.folder != folder;
    folder = row.folder;
    for (const std::string& name : names_of("symbols-twin"))
      EXPECT_EQ(library.find(name) != nullptr, first)
          << row.folder << "/" << row.file << ": " << name;
  }
}

TEST_F(LayoutTest, LayoutsShareTheirState) {
  const Library split(ASCEND_TWIN_9_0_PATH);
  const auto calls =
      reinterpret_cast<decltype(&ascend_twin_calls)>(split.find("ascend_twin_calls"));
  const auto malloc = reinterpret_cast<decltype(&aclrtMalloc)>(split.find("aclrtMalloc"));
  ASSERT_NE(calls, nullptr);
  ASSERT_NE(malloc, nullptr);
  void* address = nullptr;
  ASSERT_EQ(malloc(&address, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(calls("aclrtMalloc"), 1U);
  EXPECT_EQ(ascend_twin_calls("aclrtFree"), 1U);
}

TEST_F(LayoutTest, CopyLacksTheFunctionsThatWereTakenOff) {
  for (const char* folder : {"ascend", "ascend-9.0"}) {
    SCOPED_TRACE(folder);
    const fs::path copy = fs::path(testing::TempDir()) / ("without-" + std::string(folder));
    fs::remove_all(copy);
    ASSERT_TRUE(ascend_twin_copy_without(kFolders / folder, copy,
                                         {"aclmdlRICaptureBegin", "aclCreateTensorList"}));
    const bool is_old = std::string(folder) == "ascend";
    const Library runtime(copy / (is_old ? "libascendcl.so" : "libacl_rt.so"));
    EXPECT_EQ(runtime.find("aclmdlRICaptureBegin"), nullptr);
    const auto init = reinterpret_cast<decltype(&aclInit)>(runtime.find("aclInit"));
    ASSERT_NE(init, nullptr);
    EXPECT_EQ(init(nullptr), ACL_ERROR_REPEAT_INITIALIZE);  // the same core
    const Library base(copy / "libnnopbase.so");
    EXPECT_EQ(base.find("aclCreateTensorList"), nullptr);
    EXPECT_NE(base.find("aclCreateTensor"), nullptr);
    fs::remove_all(copy);
    EXPECT_FALSE(ascend_twin_copy_without(kFolders / folder, copy, {"aclrtNothing"}));
    fs::remove_all(copy);
  }
}

}  // namespace
}  // namespace ascend_test::layout_tests
