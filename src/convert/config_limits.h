// Values of config.json that graphs have built in.
#pragma once

#include "convert/config.h"
#include "model/published.h"

namespace shunt {

/// Unsupported for a model with another value, naming those that are possible.
Status check_config_limits(const Config& config, const Published& model);

}  // namespace shunt
