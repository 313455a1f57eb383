/// \file
/// Gates made of activation functions (which are in unary.h): y = f(gate) * up, element by element.
///
/// `gate` and `up` are two operands of one shape, and the result has this shape. Or they are the
/// two halves of each row of one operand, as fused weights give them. This operand is [2C, R, X2,
/// X3], one half after the other, and the result is [C, R, X2, X3]. `gate` (or the one operand):
/// F32, F16 or BF16. The result has its type. `up`: F32, F16 or BF16, whichever gate is. The rows
/// of an operand that holds both must be of an even size, or a dynamic dimension times an even
/// number.
#pragma once

#include <string_view>

#include "shunt/graph.h"

namespace shunt {

/// Where the gate is in rows that hold both.
enum class GateHalf : std::uint8_t { kFirst, kSecond };
/// "first", "second".
std::string_view to_string(GateHalf half);

/// Of all ops here but swiglu_oai. `gate` is kFirst where there are two operands.
struct GatedParams {
  GateHalf gate = GateHalf::kFirst;
  template <class F>
  void each(F f) const {
    f("gate", gate);
  }
};

const Op& reglu_op();
/// y = max(gate, 0) * up.
Result<Value> reglu(GraphBuilder& g, Operand gate, Operand up);
/// reglu() of the two halves of each row of one operand.
Result<Value> reglu_fused(GraphBuilder& g, Operand halves, GatedParams params = {});

const Op& geglu_op();
/// y = gelu(gate) * up, with the approximation of gelu by tanh.
Result<Value> geglu(GraphBuilder& g, Operand gate, Operand up);
/// geglu() of the two halves of each row of one operand.
Result<Value> geglu_fused(GraphBuilder& g, Operand halves, GatedParams params = {});

const Op& geglu_erf_op();
/// y = gelu_erf(gate) * up.
Result<Value> geglu_erf(GraphBuilder& g, Operand gate, Operand up);
/// geglu_erf() of the two halves of each row of one operand.
Result<Value> geglu_erf_fused(GraphBuilder& g, Operand halves, GatedParams params = {});

const Op& geglu_quick_op();
/// y = gelu_quick(gate) * up.
Result<Value> geglu_quick(GraphBuilder& g, Operand gate, Operand up);
/// geglu_quick() of the two halves of each row of one operand.
Result<Value> geglu_quick_fused(GraphBuilder& g, Operand halves, GatedParams params = {});

const Op& swiglu_op();
/// y = silu(gate) * up.
Result<Value> swiglu(GraphBuilder& g, Operand gate, Operand up);
/// swiglu() of the two halves of each row of one operand.
Result<Value> swiglu_fused(GraphBuilder& g, Operand halves, GatedParams params = {});

/// Parameters of swiglu_oai() and swiglu_oai_fused().
struct SwigluOaiParams {
  float alpha = 1.702F;  ///< finite
  float limit = 7;       ///< at least 0; infinite: none
  GateHalf gate = GateHalf::kFirst;
  template <class F>
  void each(F f) const {
    f("alpha", alpha);
    f("limit", limit);
    f("gate", gate);
  }
};

const Op& swiglu_oai_op();
/// y = c * sigmoid(alpha * c) * (u + 1), where c = min(gate, limit) and u = min(max(up, -limit),
/// limit): the gate of gpt-oss.
Result<Value> swiglu_oai(GraphBuilder& g, Operand gate, Operand up, SwigluOaiParams params = {});
/// swiglu_oai() of the two halves of each row of one operand.
Result<Value> swiglu_oai_fused(GraphBuilder& g, Operand halves, SwigluOaiParams params = {});

}  // namespace shunt
