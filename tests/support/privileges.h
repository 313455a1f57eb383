// Root may read everything; to see a refusal, a test must act as another user for a while.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace shunt::test {

/// While it lives, root acts as the user `nobody`, and so do processes that it starts; other users
/// stay who they are. `folder` is opened to be passed through first.
class WithoutPrivileges {
 public:
  explicit WithoutPrivileges(const std::string& folder) : was_root_(::geteuid() == 0) {
    std::filesystem::permissions(folder, std::filesystem::perms(0711));
    if (was_root_) dropped_ = ::seteuid(kNobody) == 0;
  }
  ~WithoutPrivileges() {
    if (dropped_) [[maybe_unused]]
      const int back = ::seteuid(0);
  }
  WithoutPrivileges(const WithoutPrivileges&) = delete;
  WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool was_root_;
  bool dropped_ = false;
};

}  // namespace shunt::test
