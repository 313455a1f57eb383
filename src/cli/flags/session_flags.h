// The flags about the batch size and the KV cache of a session.
#pragma once

#include "cli/flags/arguments.h"
#include "shunt/engine.h"

namespace shunt::cli {

/// `--batch` and `--cache-type`. The values in `session` are the defaults. It must outlive
/// Arguments::parse().
void declare_session(Arguments& arguments, SessionOptions& session);

}  // namespace shunt::cli
