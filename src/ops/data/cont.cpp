#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

/// cont and dup: today's cont always copies, and a copy is always contiguous.
class Cont final : public Differentiable<NoParams> {
 public:
  Cont(std::string_view name, std::string_view summary)
      : info_{.name = name, .family = "data", .summary = summary, .sources = {"x"}} {}
  const OpInfo& info() const override { return info_; }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    return contiguous(sources[0]->dtype, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    result.data = sources[0]->data;
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    return node.add_gradient(0, node.dy());
  }

 private:
  OpInfo info_;
};

}  // namespace

const Op& cont_op() {
  static const Cont kOp("cont", "A copy that is contiguous in memory: y[i] = x[i].");
  return kOp;
}

const Op& dup_op() {
  static const Cont kOp("dup",
                        "A copy of the same type in memory of its own, which later writes into x "
                        "do not change: y[i] = x[i].");
  return kOp;
}

Result<Value> cont(GraphBuilder& g, Operand x) {
  return g.apply(cont_op(), Params::of(NoParams{}), {&x});
}

Result<Value> dup(GraphBuilder& g, Operand x) {
  return g.apply(dup_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
