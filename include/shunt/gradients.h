/// \file
/// Automatic differentiation: the gradient of a loss by some values of a graph. Include it to train
/// graphs of your own. train.h trains language models.
///
/// \code
/// const Value parameters[] = {w};
/// const auto loss = sum(g, sqr(g, matmul(g, w, x)));  // F32 [1]
/// SHUNT_ASSIGN(const std::vector<Value> by, gradients(g, loss, parameters));  // by[0]: that by w
/// \endcode
#pragma once

#include <span>
#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// Adds the nodes that compute the gradient of a loss by each of `parameters` to a graph, and
/// returns these gradients in the same order: F32, of the parameter's shape. They are nodes like
/// any other, and no two are the same. A parameter that does not affect the loss has a gradient of
/// zeros.
///
/// loss: F32 [1]. parameters: F32, F16 or BF16, leaves or not. A gradient is the total one: by
/// every path there is from the parameter to the loss, through other parameters too. Rounding to a
/// type counts as the identity; whole numbers, and values that depend on them alone, don't change.
///
/// Where an op is not differentiable (abs at 0, clamp at a bound), its derivative there is that of
/// one side, or between those of both.
///
/// Unsupported if a path leads through an op without a gradient rule, or to a source for which the
/// rule has no gradient. The message names op and node; docs/guide/training.md lists them.
/// Unsupported, too, if a dynamic dimension is where a rule needs a fixed size, or if overwritten
/// memory would make the gradient wrong. The latter: a path leads through memory that is read by
/// another name than that of the node's result, or a rule needs a value that is overwritten later.
/// Invalid: the loss is no such number, or a parameter is not of the graph or of another type.
/// After an error nodes may have been added that nothing needs.
///
/// From one thread at a time, as all that a builder does.
Result<std::vector<Value>> gradients(GraphBuilder& g, Operand loss,
                                     std::span<const Value> parameters);

}  // namespace shunt
