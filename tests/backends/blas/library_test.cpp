// When there is a BLAS device, why there is none, and whose threads it computes on.
#include <gmock/gmock.h>

#include <array>

#include "shunt/registry.h"
#include "support/test_blas.h"

namespace shunt::test::library_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class BlasLibrary : public testing::Test {
 protected:
  const BackendStatus& open(const Options& options) {
    registry_ = std::move(*Registry::create(options));
    for (const BackendStatus& backend : registry_->backends()) {
      if (backend.name == "blas") return backend;
    }
    throw std::runtime_error("there is no BLAS backend in this build");
  }
  const BackendStatus& open(const std::string& path) {
    Options options;
    options.threads = 2;
    options.libraries["blas"] = path;
    return open(options);
  }
  DeviceInfo device() const { return (*registry_->find("blas0"))->info(); }

  std::unique_ptr<Registry> registry_;
};

TEST_F(BlasLibrary, IsFoundByItsPathAndInAFolder) {
  const TestBlas library;
  for (const std::string& path : {library.path(), library.folder()}) {
    const BackendStatus& status = open(path);
    EXPECT_TRUE(status.loaded) << status.note;
    EXPECT_THAT(status.note, IsEmpty());
    EXPECT_EQ(device().description, "libopenblas.so.0 (TestBLAS 1.0)");
    EXPECT_TRUE(device().host_memory);
    EXPECT_GT(device().memory_total, 0U);
  }
  const TestBlas other(SHUNT_TEST_BLAS, "libblas.so.3");
  EXPECT_TRUE(open(other.folder()).loaded);
}

TEST_F(BlasLibrary, MissingLibraryIsReportedWithTheReason) {
  const BackendStatus& status = open("/no/such/libopenblas.so.0");
  EXPECT_FALSE(status.loaded);
  EXPECT_THAT(status.note, HasSubstr("/no/such/libopenblas.so.0: cannot open shared object file"));
  EXPECT_FALSE(registry_->find("blas0"));
}

TEST_F(BlasLibrary, EmptyFolderErrorNamesEveryFileTried) {
  const TestBlas library(SHUNT_TEST_BLAS, "another.so");
  EXPECT_THAT(open(library.folder()).note,
              AllOf(HasSubstr(library.folder() + "/libopenblas.so.0: cannot open"),
                    HasSubstr(library.folder() + "/libblas.so.3: cannot open")));
}

TEST_F(BlasLibrary, RejectsALibraryWithoutSgemmByName) {
  const TestBlas library(SHUNT_TEST_BLAS_WITHOUT_SGEMM);
  const BackendStatus& status = open(library.path());
  EXPECT_FALSE(status.loaded);
  EXPECT_THAT(status.note, AllOf(HasSubstr(library.path()),
                                 HasSubstr("it has no cblas_sgemm, which every CBLAS has")));
  EXPECT_THAT(open("libc.so.6").note, HasSubstr("it has no cblas_sgemm"));
}

TEST_F(BlasLibrary, RejectsALibraryWith64BitSizes) {
  const TestBlas library(SHUNT_TEST_BLAS_WIDE);
  EXPECT_THAT(open(library.path()).note, HasSubstr("its sizes have 64 bits"));
}

TEST_F(BlasLibrary, ComputesOnTheCallingThreads) {
  const TestBlas library;
  EXPECT_TRUE(open(library.path()).loaded);
  EXPECT_EQ(library.count("test_blas_threads"), 1);
  // Threads that it started when it was loaded would spin on the CPU device's cores.
  EXPECT_EQ(library.count("test_blas_running"), 0);
}

/// Its number of threads must not be changed: the program that loaded it may rely on it.
TEST_F(BlasLibrary, LibraryLoadedByTheProcessKeepsItsThreads) {
  const TestBlas library;
  const auto of_the_program = DynamicLibrary::open(library.path());
  const BackendStatus& status = open(library.path());
  EXPECT_TRUE(status.loaded);
  EXPECT_THAT(status.note,
              HasSubstr("this process had loaded libopenblas.so.0 already: its number of threads "
                        "is not changed, and it computes one product at a time"));
  EXPECT_EQ(library.count("test_blas_threads"), 8);
  EXPECT_EQ(library.count("test_blas_running"), 1);
}

TEST_F(BlasLibrary, SecondRegistryReusesTheSettingsOfTheFirst) {
  const TestBlas library;
  for (int i = 0; i < 2; ++i) {
    const BackendStatus& status = open(library.path());
    EXPECT_TRUE(status.loaded);
    EXPECT_THAT(status.note, IsEmpty()) << "it is there because of us";
  }
}

/// A program that opens the library after the first registry may be computing on its threads.
TEST_F(BlasLibrary, SecondRegistryKeepsTheThreadsOfTheProgram) {
  const TestBlas library;
  ASSERT_TRUE(open(library.path()).loaded);
  ASSERT_EQ(library.count("test_blas_threads"), 1);
  library.call_with("openblas_set_num_threads", 8);
  ASSERT_TRUE(open(library.path()).loaded);
  EXPECT_EQ(library.count("test_blas_threads"), 8);
  EXPECT_EQ(library.count("test_blas_running"), 1);
}

TEST_F(BlasLibrary, NotesALibraryWhoseThreadsCannotBeLimited) {
  const TestBlas library(SHUNT_TEST_BLAS_WITHOUT_THREADS);
  const BackendStatus& status = open(library.path());
  EXPECT_TRUE(status.loaded);
  EXPECT_THAT(status.note,
              HasSubstr("libopenblas.so.0 has no openblas_set_num_threads: its threads can't be "
                        "limited, and it computes one product at a time"));
}

/// In OpenBLAS built with OpenMP, openblas_set_num_threads() limits the calling thread only.
TEST_F(BlasLibrary, OpenMpLibraryKeepsItsThreads) {
  const TestBlas library(SHUNT_TEST_BLAS_OPENMP);
  const BackendStatus& status = open(library.path());
  EXPECT_TRUE(status.loaded);
  EXPECT_THAT(status.note,
              HasSubstr("libopenblas.so.0 uses OpenMP: its threads can be limited for one caller "
                        "only, and it computes one product at a time"));
  EXPECT_EQ(library.count("test_blas_threads"), 8);
  EXPECT_EQ(library.count("test_blas_running"), 1);
}

/// Another BLAS library of the process has threads of its own.
TEST_F(BlasLibrary, AnotherLoadedBlasLibraryDoesNotMatter) {
  const TestBlas library;
  const std::string other = library.folder() + "/libblas.so.3";
  std::filesystem::copy_file(library.path(), other);
  const auto of_the_program = DynamicLibrary::open(other);
  ASSERT_TRUE(of_the_program);
  EXPECT_THAT(open(library.folder()).note, IsEmpty());
  EXPECT_EQ(library.count("test_blas_threads"), 1);
}

TEST_F(BlasLibrary, InvalidNumberOfThreadsIsAnError) {
  const TestBlas library;
  Options options = library.options();
  options.threads = -1;
  const BackendStatus& status = open(options);
  EXPECT_FALSE(status.loaded);
  EXPECT_THAT(status.note, HasSubstr("-1 threads"));
}

/// Where the CPU device has vector code.
TEST_F(BlasLibrary, IsUsedOnlyIfNamedWhereTheCpuHasVectorCode) {
  const TestBlas library;
  ASSERT_TRUE(open(library.path()).loaded);
  if (!registry_->find("cpu0")) GTEST_SKIP() << "there is no CPU backend in this build";
  const auto names = [](const std::vector<Device*>& devices) {
    std::vector<std::string> found;
    for (const Device* each : devices) found.push_back(each->info().name);
    return found;
  };
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_THAT(names(*registry_->select({})), testing::ElementsAre("cpu0"));
#else
  EXPECT_THAT(names(*registry_->select({})), testing::ElementsAre("blas0", "cpu0"));
#endif
  const std::array<std::string, 1> named = {"blas0"};
  EXPECT_THAT(names(*registry_->select(named)), testing::ElementsAre("blas0", "cpu0"));
}

}  // namespace
}  // namespace shunt::test::library_test
