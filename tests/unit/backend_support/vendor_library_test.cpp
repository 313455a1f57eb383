// Vendor libraries: where they are searched, the messages of errors, and which users share one.
#include "backend_support/vendor_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/privileges.h"
#include "test_paths.h"

namespace shunt::test::backend_support_vendor_library_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::array kFirstNames = {"libvendor-first.so.1", "libvendor-first.so"};
constexpr std::array kSecondNames = {"libvendor-second.so"};
constexpr std::array kOneFile = {LibraryFile{kFirstNames}};
constexpr std::array kTwoFiles = {LibraryFile{kFirstNames}, LibraryFile{kSecondNames}};

bool has_twin_symbol(const VendorLibrary& library) {
  return library.find("vendor_is_twin") != nullptr;
}

constexpr VendorRuntime kOne = {
    .backend = "vendor", .description = "the vendor's library", .files = kOneFile};
constexpr VendorRuntime kTwo = {
    .backend = "vendor", .description = "the vendor's library", .files = kTwoFiles};

class VendorLibraries : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("vendor_library_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(folder_);
  }

  /// A copy of a test library, which is another library to the loader; its path.
  std::string copy(const std::string& library, const std::string& name) const {
    const auto path = folder_ / name;
    std::filesystem::copy_file(library, path);
    return path.string();
  }
  static Options with_path(const std::string& path) {
    Options options;
    options.libraries["vendor"] = path;
    return options;
  }
  std::string folder() const { return folder_.string(); }
  static int call(const VendorLibrary& library, const char* symbol) {
    const auto function = reinterpret_cast<int (*)()>(library.find(symbol));
    return function == nullptr ? 0 : function();
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(VendorLibraries, SymbolsAreSearchedInAllLibrariesOfASet) {
  const std::string first = copy(SHUNT_TEST_VENDOR_1, kFirstNames[1]);
  const std::string second = copy(SHUNT_TEST_VENDOR_2, kSecondNames[0]);
  const auto library = VendorLibrary::open(kTwo, with_path(folder()));
  ASSERT_TRUE(library) << library.error().message();
  EXPECT_EQ(call(**library, "vendor_part_1"), 1);
  EXPECT_EQ(call(**library, "vendor_part_2"), 2);
  EXPECT_EQ(call(**library, "vendor_any_part"), 1);  // that of the first file that has it
  EXPECT_EQ((*library)->find("vendor_part_3"), nullptr);
  EXPECT_THAT((*library)->paths(), ElementsAre(std::filesystem::canonical(first).string(),
                                               std::filesystem::canonical(second).string()));
}

TEST_F(VendorLibraries, FirstNameInAFolderIsLoaded) {
  copy(SHUNT_TEST_VENDOR_2, kFirstNames[1]);
  copy(SHUNT_TEST_VENDOR_1, kFirstNames[0]);
  const auto library = VendorLibrary::open(kOne, with_path(folder()));
  ASSERT_TRUE(library) << library.error().message();
  EXPECT_EQ(call(**library, "vendor_any_part"), 1);
}

TEST_F(VendorLibraries, FileOfAnyNameIsTheWholeRuntime) {
  const auto library =
      VendorLibrary::open(kTwo, with_path(copy(SHUNT_TEST_VENDOR_2, "renamed.so")));
  ASSERT_TRUE(library) << library.error().message();
  EXPECT_EQ(call(**library, "vendor_any_part"), 2);
  EXPECT_EQ((*library)->paths().size(), 1U);
}

/// The library calls a function that no library has; only calling it would be an error.
TEST_F(VendorLibraries, FunctionsAreBoundLazily) {
  const std::string path = copy(SHUNT_TEST_VENDOR_1, kFirstNames[0]);
  const auto at_once = DynamicLibrary::open(path);
  ASSERT_FALSE(at_once);
  EXPECT_THAT(at_once.error().message(), HasSubstr("undefined symbol"));
  EXPECT_TRUE(VendorLibrary::open(kOne, with_path(path)));
}

TEST_F(VendorLibraries, WithoutAPathTheErrorNamesEveryFileTried) {
  const auto library = VendorLibrary::open(kOne, Options());
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(library.error().message(),
              AllOf(HasSubstr("the vendor's library was not found: libvendor-first.so.1: cannot "
                              "open shared object file"),
                    HasSubstr("; libvendor-first.so: cannot open shared object file")));
}

TEST_F(VendorLibraries, MissingFileIsNamed) {
  const auto library = VendorLibrary::open(kTwo, with_path(folder() + "/no.so"));
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message(),
              HasSubstr("the vendor's library can't be loaded: " + folder() +
                        "/no.so: cannot open shared object file: No such file or directory"));
}

TEST_F(VendorLibraries, EmptyFolderErrorNamesEveryFileTried) {
  const auto library = VendorLibrary::open(kOne, with_path(folder()));
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(library.error().message(),
              AllOf(HasSubstr("the vendor's library is not in " + folder() + ": "),
                    HasSubstr(folder() + "/libvendor-first.so.1: cannot open"),
                    HasSubstr(folder() + "/libvendor-first.so: cannot open")));
}

TEST_F(VendorLibraries, FolderWithOneOfTwoFilesNamesTheMissingOne) {
  copy(SHUNT_TEST_VENDOR_1, kFirstNames[0]);
  const auto library = VendorLibrary::open(kTwo, with_path(folder()));
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message(), HasSubstr("libvendor-second.so: cannot open"));
}

TEST_F(VendorLibraries, FolderWithoutPermissionIsAnErrorWithTheReason) {
  const std::string inner = folder() + "/closed";
  std::filesystem::create_directory(inner);
  std::filesystem::copy_file(SHUNT_TEST_VENDOR_1, inner + "/" + kFirstNames[0]);
  std::filesystem::permissions(inner, std::filesystem::perms::none);
  {
    const WithoutPrivileges unprivileged(folder());
    const auto library = VendorLibrary::open(kOne, with_path(inner));
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().code(), ErrorCode::kNotFound);
    EXPECT_THAT(library.error().message(),
                HasSubstr(inner + "/libvendor-first.so.1: cannot open shared object file: "
                                  "Permission denied"));
  }
  std::filesystem::permissions(inner, std::filesystem::perms::owner_all);
}

TEST_F(VendorLibraries, FileThatIsNoLibraryIsAnErrorWithTheReason) {
  const std::string path = folder() + "/" + kFirstNames[0];
  std::ofstream(path) << "this is a text, which is longer than the header of a library is: "
                      << std::string(4096, '.');
  const auto library = VendorLibrary::open(kOne, with_path(path));
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message(), HasSubstr(path + ": invalid ELF header"));
  // In a folder the next name is tried.
  copy(SHUNT_TEST_VENDOR_1, kFirstNames[1]);
  EXPECT_TRUE(VendorLibrary::open(kOne, with_path(folder())));
}

/// The loader treats an empty name as the program itself, which has every symbol of the test.
TEST_F(VendorLibraries, EmptyPathIsAnError) {
  const auto library = VendorLibrary::open(kOne, with_path(""));
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message(), HasSubstr("without a path"));
}

TEST_F(VendorLibraries, SameFileFoundByAnyPathIsSharedOnce) {
  const std::string path = copy(SHUNT_TEST_VENDOR_1, kFirstNames[0]);
  std::filesystem::create_symlink(path, folder() + "/link.so");
  const auto first = VendorLibrary::open(kOne, with_path(path));
  ASSERT_TRUE(first) << first.error().message();
  for (const std::string& other : {path, folder(), folder() + "/link.so"}) {
    const auto second = VendorLibrary::open(kOne, with_path(other));
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(first->get(), second->get()) << other;
  }
  const auto another =
      VendorLibrary::open(kOne, with_path(copy(SHUNT_TEST_VENDOR_1, "another.so")));
  ASSERT_TRUE(another);
  EXPECT_NE(first->get(), another->get());
}

TEST_F(VendorLibraries, ReportWhetherTheProcessHadLoadedThemBefore) {
  const std::string path = copy(SHUNT_TEST_VENDOR_1, kFirstNames[0]);
  {
    const auto ours = VendorLibrary::open(kOne, with_path(path));
    ASSERT_TRUE(ours);
    EXPECT_FALSE((*ours)->was_loaded_before());
    // There because of us.
    EXPECT_FALSE((*VendorLibrary::open(kOne, with_path(path)))->was_loaded_before());
  }
  EXPECT_FALSE(DynamicLibrary::is_loaded(path)) << "the last user has gone";
  const auto of_the_program = DynamicLibrary::open(path, DynamicLibrary::Binding::kLazy);
  ASSERT_TRUE(of_the_program);
  EXPECT_TRUE((*VendorLibrary::open(kOne, with_path(path)))->was_loaded_before());
}

/// Settings that the first object made there are kept.
TEST_F(VendorLibraries, LibraryKeptLoadedByUsDoesNotCountAsLoadedBefore) {
  const std::string path = copy(SHUNT_TEST_VENDOR_1, kFirstNames[0]);
  VendorRuntime staying = kOne;
  staying.stays_loaded = true;
  const VendorLibrary* const first = VendorLibrary::open(staying, with_path(path))->get();
  EXPECT_TRUE(DynamicLibrary::is_loaded(path));
  const auto second = VendorLibrary::open(staying, with_path(path));
  EXPECT_EQ(second->get(), first);
  EXPECT_FALSE((*second)->was_loaded_before());
}

TEST_F(VendorLibraries, TwinIsUsedOnlyByExplicitPath) {
  VendorRuntime with_twin = kOne;
  with_twin.is_twin = has_twin_symbol;
  const std::string path = copy(SHUNT_TEST_VENDOR_TWIN, kFirstNames[0]);
  EXPECT_TRUE(VendorLibrary::open(with_twin, with_path(path)));
  EXPECT_TRUE(VendorLibrary::open(with_twin, with_path(folder())));
  // Found by search, as the loader would in a system's folder: by a name that is a path.
  const std::array<const char*, 1> names = {path.c_str()};
  const std::array files = {LibraryFile{names}};
  with_twin.files = files;
  const auto library = VendorLibrary::open(with_twin, Options());
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(library.error().message(),
              AllOf(HasSubstr("is a twin"), HasSubstr("--library vendor=PATH")));
  with_twin.is_twin = nullptr;
  EXPECT_TRUE(VendorLibrary::open(with_twin, Options()));
}

TEST_F(VendorLibraries, AreOpenedAndClosedConcurrently) {
  const std::string path = copy(SHUNT_TEST_VENDOR_1, kFirstNames[0]);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const auto library = VendorLibrary::open(kOne, with_path(path));
        const bool right =
            library && call(**library, "vendor_part_1") == 1 && !(*library)->was_loaded_before();
        if (!right) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace shunt::test::backend_support_vendor_library_test
