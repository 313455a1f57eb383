/// \file
/// The operations, one header a family. Include it for all of them. Each builder function adds a
/// node to a graph that is being built. Every op has a second function for expressions
/// (expression_ops.h), without the argument `g`.
///
/// \code
/// SHUNT_ASSIGN(Value y, matmul(g, w, rms_norm(g, x)));
/// \endcode
///
/// Shapes are given innermost first; missing dimensions are 1. Any size may be 0 or a dynamic
/// dimension unless it says otherwise. Sources may have any strides (shunt/ops/view.h), so that
/// views need no copies. Every function fails, and adds nothing, if a type, a shape or a parameter
/// does not fit (kInvalidArgument; the message names the op, the operands and their shapes), or
/// with the error of an operand.
#pragma once

#include "shunt/ops/activation.h"
#include "shunt/ops/attention.h"
#include "shunt/ops/convolution.h"
#include "shunt/ops/custom.h"
#include "shunt/ops/data.h"
#include "shunt/ops/elementwise.h"
#include "shunt/ops/matrix.h"
#include "shunt/ops/norm.h"
#include "shunt/ops/order.h"
#include "shunt/ops/reduce.h"
#include "shunt/ops/rows.h"
#include "shunt/ops/state.h"
#include "shunt/ops/training.h"
#include "shunt/ops/unary.h"
#include "shunt/ops/view.h"
