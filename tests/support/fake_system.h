// The files in which a system describes itself, with contents that a test chooses.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "support/gguf_bytes.h"

namespace shunt::test {

/// A folder that replaces the root of a system's files. It goes with it.
class FakeSystem {
 public:
  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path at = std::filesystem::path(root()) / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  std::string root() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

}  // namespace shunt::test
