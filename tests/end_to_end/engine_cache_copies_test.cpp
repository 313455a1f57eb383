// Copies of a session's caches, which are written into caches of another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/load/session_steps.h"
#include "engine/session/session_plans.h"
#include "shunt/engine.h"
#include "support/models.h"

namespace shunt::test::engine_cache_copies_test {
namespace {

using ::testing::HasSubstr;

class EngineCacheCopies : public ::testing::Test {
 protected:
  EngineCacheCopies() {
    registry_ = std::move(*Registry::create({}));
    model_ = *Model::load(file_.path(), *registry_);
    SessionOptions options;
    options.context = 64;
    options_ = *complete(options, model_->info());
  }
  Status write(SessionPlans& plans, const std::vector<std::vector<std::byte>>& contents) {
    return plans.write_caches(contents);
  }

  SynthModel file_;
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  SessionOptions options_;
};

TEST_F(EngineCacheCopies, RoundTrip) {
  auto plans = SessionPlans::create(*model_->state(), options_);
  ASSERT_TRUE(plans) << plans.error().message();
  auto contents = *(*plans)->read_caches();
  ASSERT_FALSE(contents.empty());
  for (auto& bytes : contents) std::ranges::fill(bytes, std::byte{3});
  ASSERT_TRUE(write(**plans, contents));
  EXPECT_EQ(*(*plans)->read_caches(), contents);
}

/// Of another number of caches, or of another size, in either direction: nothing is written.
TEST_F(EngineCacheCopies, RejectOtherSizes) {
  auto plans = SessionPlans::create(*model_->state(), options_);
  ASSERT_TRUE(plans) << plans.error().message();
  const auto before = *(*plans)->read_caches();
  auto filled = before;
  for (auto& bytes : filled) std::ranges::fill(bytes, std::byte{3});
  const auto expect_invalid = [&](const std::vector<std::vector<std::byte>>& contents,
                                  const char* text) {
    const Status status = write(**plans, contents);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr(text));
    EXPECT_EQ(*(*plans)->read_caches(), before);
  };
  auto fewer = filled;
  fewer.pop_back();
  expect_invalid(fewer, "a copy of ");
  auto more = filled;
  more.push_back(more.back());
  expect_invalid(more, "a copy of ");
  for (const int change : {-1, 1}) {
    auto other = filled;
    other.back().resize(other.back().size() + static_cast<std::size_t>(change));
    expect_invalid(other, "bytes for cache ");
  }
}

}  // namespace
}  // namespace shunt::test::engine_cache_copies_test
