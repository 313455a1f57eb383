// libshunt_conformance refuses to work with a libshunt of another build.
#include "conformance/same_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::test::conformance_same_build_test {
namespace {

using testing::HasSubstr;

TEST(SameBuild, EqualTokensAreTheSameBuild) {
  EXPECT_TRUE(check_same_build("shunt 1, compiler 12", "shunt 1, compiler 12"));
  EXPECT_TRUE(check_same_build(SHUNT_ABI_TOKEN, abi_token()));
}

TEST(SameBuild, DifferentTokensAreAnErrorThatNamesBoth) {
  for (const char* other : {"shunt 2, compiler 12", "shunt 1, compiler 1", ""}) {
    const Status status = check_same_build("shunt 1, compiler 12", other);
    ASSERT_FALSE(status) << other;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr("\"shunt 1, compiler 12\""));
    EXPECT_THAT(status.error().message(), HasSubstr('"' + std::string(other) + '"'));
  }
}

}  // namespace
}  // namespace shunt::test::conformance_same_build_test
