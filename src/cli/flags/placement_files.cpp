#include "cli/flags/placement_files.h"

#include "cli/flags/text_files.h"

namespace shunt::cli {

Result<PlacementFile> load_placement(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  SHUNT_ASSIGN(const std::string text, read_whole_file(path, kMostBytes));
  return read_placement(text, path);
}

}  // namespace shunt::cli
