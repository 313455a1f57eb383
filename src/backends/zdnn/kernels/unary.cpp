// Functions of each element: those of the machine, and what is made of a few of them.
#include "shunt/ops/unary.h"

#include <array>
#include <initializer_list>
#include <numbers>

#include "backends/zdnn/kernels/steps.h"

namespace shunt::zdnn {

namespace {

/// One row an op: which functions it is made of, how many tensors beside its own it needs, how
/// exact it is (ZdnnKernel::roundings), and whether its result may be lost (ZdnnKernel::vanishes).
struct Row {
  const Op& (*op)();
  std::vector<Feature> features;
  std::size_t temporaries;
  double roundings;
  bool vanishes;
  bool (*run)(Launch& l, const Stick& x, Stick& y);
};

class UnaryKernel final : public ZdnnKernel {
 public:
  explicit UnaryKernel(const Row& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  Support supports_on(const NodeView& view, const Machine& machine) const override {
    return needs(view, machine, row_.features);
  }
  std::vector<Dims> temporaries(const KernelUse& use) const override {
    return std::vector<Dims>(row_.temporaries, max_dims(use.view.result()));
  }
  void run(Launch& l) const override { (void)row_.run(l, *l.sources[0].stick, *l.result); }
  double roundings(const NodeView&, const Machine&) const override { return row_.roundings; }
  bool vanishes() const override { return row_.vanishes; }

 private:
  const Row& row_;
};

/// Where the argument of an exponential is rounded, the result is off by that times the argument's
/// size: up to 22, beyond which the machine has no numbers.
constexpr double kOfExponential = 22.0 * 22.0;

const std::vector<Row>& rows() {
  using F = Feature;
  static const std::vector<Row> kRows = {
      {exp_op,
       {F::kExp},
       0,
       kOfExponential,
       true,
       [](Launch& l, const Stick& x, Stick& y) { return l.unary("zdnn_exp", l.zdnn().exp, x, y); }},
      {log_op,
       {F::kLog},
       0,
       2,
       true,
       [](Launch& l, const Stick& x, Stick& y) { return l.unary("zdnn_log", l.zdnn().log, x, y); }},
      {sqrt_op,
       {F::kSqrt},
       0,
       1,
       false,
       [](Launch& l, const Stick& x, Stick& y) {
         return l.unary("zdnn_sqrt", l.zdnn().sqrt, x, y);
       }},
      {relu_op,
       {F::kRelu},
       0,
       1,
       false,
       [](Launch& l, const Stick& x, Stick& y) {
         return l.call("zdnn_relu", l.zdnn().relu(x.get(), nullptr, y.get()));
       }},
      {tanh_op,
       {F::kTanh},
       0,
       1,
       false,
       [](Launch& l, const Stick& x, Stick& y) {
         return l.unary("zdnn_tanh", l.zdnn().tanh, x, y);
       }},
      {sigmoid_op,
       {F::kSigmoid},
       0,
       2,
       true,
       [](Launch& l, const Stick& x, Stick& y) {
         return l.unary("zdnn_sigmoid", l.zdnn().sigmoid, x, y);
       }},
      {silu_op, {F::kSigmoid, F::kMul}, 1, 2, true, silu},
      {gelu_op, {F::kMul, F::kBatchnorm, F::kSigmoid}, 2, 4, true, gelu},
      // Its approximation by tanh: at most 5e-4 apart, half of what DLFLOAT16 rounds numbers near 1
      // by.
      {gelu_erf_op, {F::kMul, F::kBatchnorm, F::kSigmoid}, 2, 4, true, gelu},
      {gelu_quick_op,
       {F::kMul, F::kBatchnorm, F::kSigmoid},
       2,
       4,
       true,
       [](Launch& l, const Stick& x, Stick& y) {
         constexpr float kSlope = 1.702F;
         Stick& t = l.temporary(0, x.dims());
         Stick& s = l.temporary(1, x.dims());
         return l.affine(x, kSlope, 0, t) && l.unary("zdnn_sigmoid", l.zdnn().sigmoid, t, s) &&
                l.mul(x, s, y);
       }},
      {sqr_op,
       {F::kMul},
       0,
       2,
       true,
       [](Launch& l, const Stick& x, Stick& y) { return l.mul(x, x, y); }},
      {neg_op,
       {F::kBatchnorm},
       0,
       1,
       false,
       [](Launch& l, const Stick& x, Stick& y) { return l.affine(x, -1, 0, y); }},
  };
  return kRows;
}

}  // namespace

KernelList unary_kernels() {
  static const std::deque<UnaryKernel> kKernels = [] {
    std::deque<UnaryKernel> made;
    for (const Row& row : rows()) made.emplace_back(row);
    return made;
  }();
  static const std::vector<const ZdnnKernel*> kList = [] {
    std::vector<const ZdnnKernel*> list;
    for (const UnaryKernel& kernel : kKernels) list.push_back(&kernel);
    return list;
  }();
  return kList;
}

}  // namespace shunt::zdnn
