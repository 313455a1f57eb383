// Placement files as subcommands take them.
#pragma once

#include <string>

#include "shunt/explain.h"

namespace shunt::cli {

/// NotFound, Io or BadFile, naming the file.
Result<PlacementFile> load_placement(const std::string& path);

}  // namespace shunt::cli
