// Kinds of GGUF files that are no models.
#pragma once

#include "shunt/gguf.h"

namespace shunt {

/// Unsupported, with the kind of the file and its use, for an adapter, a projector, a control
/// vector, an importance matrix, and a vocabulary without weights. Other files may be models.
Status check_is_model(const gguf::File& file);

}  // namespace shunt
