// A tensor that is embedding and output, on devices that can use it as the output only.
#pragma once

#include "engine/model_state.h"

namespace shunt {

/// Where the file has one tensor for embedding and output, and an accelerator computes the product
/// with it but not the rows out of it, the model's definition becomes that with two leaves. Each
/// then gets its own place and form: the accelerator holds the output's, and the CPU goes on using
/// the file's. Where nothing wants it so, there stays one leaf, which lies somewhere once. Before
/// anything is loaded; fails if a step can't be built.
Status part_tied_output(ModelState& model, const StepShape& shape);

}  // namespace shunt
