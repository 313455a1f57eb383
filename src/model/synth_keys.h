// The numbers of a model of random weights, as keys of its file.
#pragma once

#include "model/description.h"
#include "shunt/gguf.h"
#include "shunt/synth.h"

namespace shunt {

/// Invalid for options of experts that a model of the architecture does not use; the errors of its
/// architecture.
Status check_synth_experts(const SynthOptions& options);

/// Adds those keys of the architecture that it reads. The model that they describe; the errors of
/// its architecture for numbers that do not fit each other.
Result<Description> add_synth_keys(gguf::Writer& writer, const SynthOptions& options);

}  // namespace shunt
