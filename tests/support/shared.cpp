#include "support/shared.h"
#include "test_paths.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace shunt::test {

std::string shared_path(std::string_view name) {
  return std::string(SHUNT_TEST_SHARED "/").append(name);
}

bool has_shared(std::string_view name) {
  std::error_code error;
  return std::filesystem::exists(shared_path(name), error);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace shunt::test
