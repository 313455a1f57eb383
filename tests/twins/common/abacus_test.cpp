// A whole twin made of the common parts: guarded calls, messages, strict mode, symbols.
#include <abacus_twin.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

class AbacusTwin : public testing::Test {
 protected:
  AbacusTwin() { abacus_twin_reset(); }
  ~AbacusTwin() override { abacus_twin_reset(); }
  static void set(const char* name, const char* value) {
    ASSERT_TRUE(abacus_twin_set(name, value)) << name << "=" << value;
  }
  static std::string message() { return abacus_twin_last_message(); }
};
using AbacusTwinDeathTest = AbacusTwin;
using AbacusTwinThreads = AbacusTwin;

class Abacus {
 public:
  explicit Abacus(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Abacus() { dlclose(handle_); }
  Abacus(const Abacus&) = delete;
  Abacus& operator=(const Abacus&) = delete;
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

TEST_F(AbacusTwin, ComputesAndCounts) {
  std::int32_t sum = 0;
  EXPECT_EQ(abacus_add(2, 40, &sum), ABACUS_OK);
  EXPECT_EQ(sum, 42);
  EXPECT_EQ(abacus_twin_count(ABACUS_TWIN_ADDITIONS), 1u);
  double result = 0;
  EXPECT_EQ(abacus_log(10, &result), ABACUS_OK);
  EXPECT_NEAR(result, 2.302585092994046, 1e-15);
}

TEST_F(AbacusTwin, InjectedFaultFailsTheSecondCall) {
  std::int32_t sum = 0;
  set("ABACUS_TWIN_FAIL_ADD", "2");
  EXPECT_EQ(abacus_add(1, 1, &sum), ABACUS_OK);
  EXPECT_EQ(abacus_add(1, 1, &sum), ABACUS_STUCK);
  EXPECT_EQ(message(), "abacus_add: 7: a fault that was asked for");
  EXPECT_EQ(abacus_add(1, 1, &sum), ABACUS_OK);
  EXPECT_EQ(abacus_twin_count(ABACUS_TWIN_ADDITIONS), 2u);
}

TEST_F(AbacusTwin, ExceptionsBecomeStatuses) {
  std::uint64_t sum = 0;
  EXPECT_EQ(abacus_sum(1000, &sum), ABACUS_OK);
  EXPECT_EQ(sum, 500500u);
  EXPECT_EQ(abacus_sum(1001, &sum), ABACUS_OUT_OF_MEMORY);
  EXPECT_EQ(message(), "abacus_sum: 2: the twin's own memory ran out");
  EXPECT_EQ(abacus_sum(13, &sum), ABACUS_UNKNOWN);
  EXPECT_EQ(message(), "abacus_sum: 999: the twin failed");
  set("ABACUS_TWIN_BEADS", "12");
  EXPECT_EQ(abacus_sum(13, &sum), ABACUS_OUT_OF_MEMORY);
}

TEST_F(AbacusTwin, IgnoresAndRestoresTheCallersRoundingMode) {
  double plain = 0;
  double upward = 0;
  ASSERT_EQ(abacus_log(3, &plain), ABACUS_OK);
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const abacus_status status = abacus_log(3, &upward);
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(status, ABACUS_OK);
  EXPECT_EQ(upward, plain);
  EXPECT_EQ(mode, FE_UPWARD);
}

TEST_F(AbacusTwin, StrictModeRejectsAPageChangedByAnotherWriter) {
  alignas(4096) std::array<std::uint8_t, 4096> page{};
  std::uint8_t value = 0;
  ASSERT_EQ(abacus_store(page.data(), 5), ABACUS_OK);
  page[4095] = 6;
  EXPECT_EQ(abacus_load(page.data(), &value), ABACUS_OK);  // strict mode is off
  EXPECT_EQ(value, 5);
  EXPECT_EQ(abacus_twin_count(ABACUS_TWIN_OBJECTIONS), 0u);
  set("ABACUS_TWIN_STRICT", "status");
  EXPECT_EQ(abacus_load(page.data(), &value), ABACUS_INVALID_VALUE);
  EXPECT_EQ(abacus_twin_count(ABACUS_TWIN_OBJECTIONS), 1u);
  EXPECT_EQ(message(), "abacus_load: 1: the page is not as it was stored");
  ASSERT_EQ(abacus_store(page.data(), 6), ABACUS_OK);
  EXPECT_EQ(abacus_load(page.data(), &value), ABACUS_OK);
  set("ABACUS_TWIN_STRICT", "status");  // pages are forgotten
  EXPECT_EQ(abacus_load(page.data(), &value), ABACUS_INVALID_VALUE);
}

TEST_F(AbacusTwinDeathTest, AbortEndsTheProcessWithTheReason) {
  EXPECT_EQ(abacus_add(1, 1, nullptr), ABACUS_INVALID_VALUE);
  set("ABACUS_TWIN_STRICT", "status");
  EXPECT_EQ(abacus_add(1, 1, nullptr), ABACUS_INVALID_VALUE);
  EXPECT_EQ(abacus_twin_count(ABACUS_TWIN_OBJECTIONS), 0u);
  set("ABACUS_TWIN_STRICT", "abort");
  EXPECT_DEATH(abacus_add(1, 1, nullptr),
               "Abacus twin, strict: abacus_add: 1: there is no place for the sum");
  alignas(4096) std::array<std::uint8_t, 4096> page{};
  std::uint8_t value = 0;
  EXPECT_DEATH(abacus_load(page.data(), &value), "abacus_load");
  set("ABACUS_TWIN_FAIL_ADD", "1");
  std::int32_t sum = 0;
  EXPECT_EQ(abacus_add(1, 1, &sum), ABACUS_STUCK);  // a refusal is a status still
}

TEST_F(AbacusTwin, EachLibraryExportsItsListedSymbols) {
  const Abacus newer(ABACUS_TWIN_PATH);
  const Abacus older(ABACUS_TWIN_1_PATH);
  for (const Abacus* library : {&newer, &older}) {
    EXPECT_NE(library->function<void()>("abacus_add"), nullptr);
    EXPECT_NE(library->function<void()>("abacus_twin_set"), nullptr);
    EXPECT_EQ(library->function<void()>("_ZN11abacus_twin8settingsEv"), nullptr);
    EXPECT_EQ(library->function<void()>("_ZN4twin5enterEPKc"), nullptr);
  }
  EXPECT_NE(newer.function<void()>("abacus_load"), nullptr);
  EXPECT_EQ(older.function<void()>("abacus_load"), nullptr);
  EXPECT_STREQ(newer.function<const char*()>("abacus_version")(), "2-twin");
  EXPECT_STREQ(older.function<const char*()>("abacus_version")(), "1-twin");
}

TEST_F(AbacusTwin, TwoTwinsInAProcessShareNothing) {
  const Abacus older(ABACUS_TWIN_1_PATH);
  std::int32_t sum = 0;
  set("ABACUS_TWIN_FAIL_ADD", "1+");
  EXPECT_EQ(abacus_add(1, 1, &sum), ABACUS_STUCK);
  EXPECT_EQ(older.function<decltype(abacus_add)>("abacus_add")(1, 1, &sum), ABACUS_OK);
  EXPECT_STREQ(older.function<const char*()>("abacus_twin_last_message")(), "");
  EXPECT_EQ(abacus_twin_count(ABACUS_TWIN_ADDITIONS), 0u);
}

TEST_F(AbacusTwin, ReadsTheEnvironmentWhenTheLibraryIsOpened) {
  setenv("ABACUS_TWIN_FAIL_ADD", "1", 1);
  const Abacus older(ABACUS_TWIN_1_PATH);
  unsetenv("ABACUS_TWIN_FAIL_ADD");
  std::int32_t sum = 0;
  EXPECT_EQ(older.function<decltype(abacus_add)>("abacus_add")(1, 1, &sum), ABACUS_STUCK);
}

TEST_F(AbacusTwinThreads, CountAllCallsAndKeepTheirOwnMessages) {
  std::vector<std::thread> threads;
  std::vector<std::string> messages(4);
  for (std::size_t i = 0; i < messages.size(); ++i)
    threads.emplace_back([&, i] {
      std::int32_t sum = 0;
      for (int n = 0; n < 100; ++n) EXPECT_EQ(abacus_add(n, 1, &sum), ABACUS_OK);
      if (i == 0) {
        EXPECT_EQ(abacus_add(1, 1, nullptr), ABACUS_INVALID_VALUE);
      }
      messages[i] = abacus_twin_last_message();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(abacus_twin_count(ABACUS_TWIN_ADDITIONS), 400u);
  EXPECT_NE(messages[0], "");
  for (std::size_t i = 1; i < messages.size(); ++i) EXPECT_EQ(messages[i], "");
}

}  // namespace
