// A tensor that is embedding and output, on devices of which one is to look up rows in it, and
// another one to compute products with it.
#pragma once

#include "engine/model_state.h"

namespace shunt {

/// For a file that has one tensor for embedding and output. Placement may have an accelerator
/// compute the product with it and another device look up the rows. Then the model's definition
/// becomes that with two leaves. Each then gets its own place and form. Otherwise there is one
/// leaf, on one device. A placement file decides itself: by whether it has that leaf. Before
/// anything is loaded; fails if a step can't be built.
Status part_tied_output(ModelState& model, std::span<const StepShape> steps);

}  // namespace shunt
