// A model whose matrices are split among devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/definition.h"

namespace shunt {

/// How many of `units` pieces each share gets: in proportion, and at least one. There must be as
/// many units as shares; each share is at least 1, and units times their sum is below 2^62.
std::vector<std::int64_t> divide(std::int64_t units, std::span<const std::int64_t> shares);

/// The same model with its split groups in parts, one for each share. A matrix that is embedding
/// and output stays whole as the embedding. Where the columns of a matrix have too few whole blocks
/// for the shares, its rows are split instead. Unsupported for an architecture without split
/// groups; Invalid, naming group and numbers, where a group has fewer units, or fewer pieces of
/// whole blocks, than there are shares.
Result<std::shared_ptr<const ModelDefinition>> split_model(
    std::shared_ptr<const ModelDefinition> model, std::span<const std::int64_t> shares);

}  // namespace shunt
