#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "base/guarded.h"
#include "shunt/error.h"
#include "shunt/options.h"

namespace shunt::base_options_test {
namespace {

using ::testing::HasSubstr;

/// Sets a variable for as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, ComeFromTheEnvironment) {
  const Environment threads("SHUNT_THREADS", "3");
  const Environment path("SHUNT_BACKEND_PATH", "/a:/b");
  const auto options = options_from_environment();
  ASSERT_TRUE(options);
  EXPECT_EQ(options->threads, 3);
  EXPECT_EQ(options->backend_path, "/a:/b");
}

TEST(Options, PinIsAutoOnOrOff) {
  for (const auto& [text, pin] :
       {std::pair("auto", PinThreads::kAuto), std::pair("on", PinThreads::kOn),
        std::pair("off", PinThreads::kOff)}) {
    const Environment variable("SHUNT_PIN", text);
    const auto options = options_from_environment();
    ASSERT_TRUE(options);
    EXPECT_EQ(options->pin_threads, pin) << text;
  }
  for (const char* text : {"On", "1", "auto ", "yes"}) {
    const Environment variable("SHUNT_PIN", text);
    const auto options = options_from_environment();
    ASSERT_FALSE(options) << text;
    EXPECT_THAT(options.error().message(), HasSubstr("SHUNT_PIN"));
    EXPECT_THAT(options.error().message(), HasSubstr("auto, on or off"));
  }
}

TEST(Options, KeepVariablesOfBackendOptions) {
  const Environment one("SHUNT_CPU_LEVEL", "scalar");
  const Environment other("SHUNT_OUT_OF_RANGE", "exact");
  const Environment empty("SHUNT_CPU_FUSE", "");
  const Environment library("SHUNT_CPU_LIBRARY", "/a/library.so");
  const Environment own("SHUNT_THREADS", "3");
  const Environment short_name("SHUNT_CPU", "x");
  const Environment foreign("SHUN_CPU_FUSE", "on");
  const auto options = options_from_environment();
  ASSERT_TRUE(options);
  const std::map<std::string, std::string> expected = {{"SHUNT_CPU_LEVEL", "scalar"},
                                                       {"SHUNT_OUT_OF_RANGE", "exact"}};
  EXPECT_EQ(options->environment, expected);
  EXPECT_TRUE(options->backend_options.empty());
}

TEST(Options, ReadTheLibraryPathOfEachBackend) {
  const Environment one("SHUNT_ZDNN_LIBRARY", "/twins/libzdnn.so.0");
  const Environment other("SHUNT_CANN_LIBRARY", "/twins/libascendcl.so");
  const Environment empty("SHUNT_BLAS_LIBRARY", "");
  const Environment nobody("SHUNT_LIBRARY", "/of/nobody.so");
  const auto options = options_from_environment();
  ASSERT_TRUE(options);
  const std::map<std::string, std::string> expected = {{"cann", "/twins/libascendcl.so"},
                                                       {"zdnn", "/twins/libzdnn.so.0"}};
  EXPECT_EQ(options->libraries, expected);
}

TEST(Options, CacheFolderFollowsXdgCacheHome) {
  const char* const before = getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  const Environment none("XDG_CACHE_HOME", "");
  {
    const Environment user("HOME", "/home/user");
    EXPECT_EQ(options_from_environment()->cache_folder, "/home/user/.cache/shunt");
    const Environment cache("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(options_from_environment()->cache_folder, "/cache/shunt");
    const Environment relative("XDG_CACHE_HOME", "cache");  // to be ignored
    EXPECT_EQ(options_from_environment()->cache_folder, "/home/user/.cache/shunt");
  }
  EXPECT_EQ(options_from_environment()->cache_folder, "");
  EXPECT_EQ(Options().cache_folder, "");
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

TEST(Options, ThreadsMayBe1024) {
  const Environment threads("SHUNT_THREADS", "1024");
  const auto options = options_from_environment();
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->threads, 1024);
}

TEST(Options, InvalidVariableIsNamed) {
  for (const char* text : {"-1", "two", "1x", "1025", "99999999999999999999"}) {
    const Environment threads("SHUNT_THREADS", text);
    const auto options = options_from_environment();
    ASSERT_FALSE(options) << text;
    EXPECT_THAT(options.error().message(), HasSubstr("SHUNT_THREADS"));
    EXPECT_THAT(options.error().message(), HasSubstr(text));
  }
}

TEST(Options, EveryOptionHasAVariableAndHelp) {
  for (const OptionInfo& option : option_table()) {
    EXPECT_TRUE(option.environment.starts_with("SHUNT_"));
    EXPECT_FALSE(option.help.empty());
  }
}

TEST(Errors, CarryContextAndVendor) {
  const Error error = Error(ErrorCode::kDevice, "launch failed")
                          .with_context("cuda0")
                          .with_vendor({700, "illegal address"});
  EXPECT_EQ(error.message(), "cuda0: launch failed");
  EXPECT_EQ(error.vendor()->code, 700);
  EXPECT_EQ(to_string(error.code()), "device");
  EXPECT_EQ(to_text(error), "cuda0: launch failed (code 700: illegal address)");
  EXPECT_EQ(error.device(), "");
}

TEST(Errors, KeepTheFirstDeviceAndNode) {
  const Error error = Error(ErrorCode::kDevice, "launch failed")
                          .with_node("q (matmul)")
                          .with_device("cuda0")
                          .with_node("a whole segment")
                          .with_device("cpu0");
  EXPECT_EQ(error.node(), "q (matmul)");
  EXPECT_EQ(error.device(), "cuda0");
  EXPECT_EQ(to_text(error), "launch failed");
}

TEST(Errors, ExceptionsBecomeErrors) {
  const auto memory = guarded([]() -> Status { throw std::bad_alloc(); }, "model.gguf");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(memory.error().message(), "model.gguf: out of memory");
  const auto other = guarded([]() -> Result<int> { throw std::runtime_error("surprise"); });
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kInternal);
  EXPECT_TRUE(guarded([]() -> Result<int> { return 3; }));
}

}  // namespace
}  // namespace shunt::base_options_test
