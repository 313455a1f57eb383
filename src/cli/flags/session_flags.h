// The flags that say how much a session computes and keeps at once.
#pragma once

#include "cli/flags/arguments.h"
#include "shunt/engine.h"

namespace shunt::cli {

/// `--batch` and `--cache-type`. Options as they are given are the defaults; they must outlive the
/// reading of arguments.
void declare_session(Arguments& arguments, SessionOptions& session);

}  // namespace shunt::cli
