// The value of a backend's option in a registry, or the error of a registry that refuses it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "shunt/registry.h"

namespace shunt::test {

/// With these variables in the environment.
inline Result<std::string> option_value(std::string_view backend, std::string_view option,
                                        std::map<std::string, std::string> environment = {}) {
  Options options;
  options.environment = std::move(environment);
  const auto registry = Registry::create(options);
  if (!registry) return Error(registry.error());
  for (const BackendStatus& status : (*registry)->backends()) {
    if (status.name != backend) continue;
    for (const OptionStatus& each : status.options) {
      if (each.name == option) return each.value;
    }
  }
  return Error(ErrorCode::kNotFound, "there is no such option");
}

/// An option with these values, the first of which is the default.
inline void expect_option(std::string_view backend, std::string_view option,
                          std::initializer_list<const char*> variables,
                          std::initializer_list<const char*> values, const char* bad) {
  const auto by_default = option_value(backend, option);
  ASSERT_TRUE(by_default) << by_default.error().message();
  EXPECT_EQ(*by_default, *values.begin());
  std::string listed;
  for (const char* value : values) listed += (listed.empty() ? "" : " or ") + std::string(value);
  for (const char* variable : variables) {
    for (const char* value : values) {
      const auto found = option_value(backend, option, {{variable, value}});
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ(*found, value) << variable;
    }
    const auto refused = option_value(backend, option, {{variable, bad}});
    ASSERT_FALSE(refused) << variable;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message(),
              std::string(variable) + ": \"" + bad + "\" is not " + listed);
  }
}

}  // namespace shunt::test
