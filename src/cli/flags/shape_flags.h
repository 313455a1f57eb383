// The flags for the shape of a new model, of all subcommands that make one.
#pragma once

#include <cstdint>
#include <string_view>

#include "shunt/synth.h"

namespace shunt::cli {

struct ShapeFlag {
  const char* name;
  std::string_view help;  ///< behind "set the"
  std::int64_t SynthOptions::*number;
};
inline constexpr ShapeFlag kShapeFlags[] = {
    {"--layers", "number of layers", &SynthOptions::layers},
    {"--width", "embedding length", &SynthOptions::width},
    {"--ff", "feed-forward length", &SynthOptions::feed_forward},
    {"--heads", "number of attention heads", &SynthOptions::heads},
    {"--kv-heads", "number of key-value heads", &SynthOptions::kv_heads},
};

}  // namespace shunt::cli
