#include "shunt/bench_train.h"

#include <map>

#include "base/clock.h"
#include "base/guarded.h"
#include "graph/op.h"
#include "model/definition.h"
#include "model/random_blocks.h"
#include "model/synth_noise.h"
#include "shunt/message.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/statistics.h"
#include "shunt/train.h"

namespace shunt {
namespace {

/// Random documents, each a whole row.
TrainingText random_text(std::int64_t vocabulary, const TrainOptions& options) {
  TrainingText text;
  for (std::int64_t i = 0; i < options.rows; ++i) {
    text.starts.push_back(text.tokens.size());
    text.bytes.push_back(0);
    for (std::int64_t t = 0; t <= options.context; ++t) {
      text.tokens.push_back(static_cast<std::int32_t>(random_bits(1, text.tokens.size()) %
                                                      static_cast<std::uint64_t>(vocabulary)));
    }
  }
  text.starts.push_back(text.tokens.size());
  return text;
}

/// The matrix products of a graph, on other inputs of the same shapes.
class Products {
 public:
  explicit Products(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.op != &matmul_op() || !status_) continue;
      const Tensor* sources[] = {&graph.node(node.sources[0]).result,
                                 &graph.node(node.sources[1]).result};
      operations_ += node.op->operations(node.result, sources, node.params);
      status_ = add(*sources[0], *sources[1]);
    }
  }

  /// Of all products.
  double operations() const { return operations_; }
  /// Seconds that they take, the median of some runs.
  Result<double> measure(Device& cpu, int runs) {
    SHUNT_TRY(status_);
    SHUNT_ASSIGN(Graph graph, std::move(g_).build());
    Device* const devices[] = {&cpu};
    SHUNT_ASSIGN(const auto plan, make_plan(std::make_shared<const Graph>(std::move(graph)),
                                            devices, {}, {.steps_in_flight = 1}));
    for (const auto& [shape, leaf] : leaves_) {
      SHUNT_ASSIGN(const auto bytes, plan->input(leaf));
      RandomBlocks(DType::kF32, 1, leaf.id).fill(bytes, leaf.id);
    }
    std::vector<double> seconds;
    for (int run = 0; run <= runs; ++run) {
      const double start = steady_seconds();
      SHUNT_TRY(plan->run());
      if (run > 0) seconds.push_back(steady_seconds() - start);
    }
    return summarize(seconds).median;
  }

 private:
  Status add(const Tensor& w, const Tensor& x) {
    SHUNT_ASSIGN(const Value left, leaf(w));
    SHUNT_ASSIGN(const Value right, leaf(x));
    SHUNT_ASSIGN(const Value y, matmul(g_, left, right));
    return g_.output(y, "y");
  }
  Result<Value> leaf(const Tensor& like) {
    const Sizes sizes = max_sizes(like.shape);
    const auto known = leaves_.find(sizes);
    if (known != leaves_.end()) return known->second;
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF32, like.shape));
    SHUNT_ASSIGN(const Value leaf, g_.input("x", tensor));
    leaves_[sizes] = leaf;
    return leaf;
  }

  GraphBuilder g_;
  std::map<Sizes, Value> leaves_;
  double operations_ = 0;
  Status status_;
};

TrainOptions options_of(const TrainBenchRequest& request) {
  TrainOptions options;
  options.context = request.context;
  options.rows = request.rows;
  return options;
}

}  // namespace

Status check_train_bench(const TrainBenchRequest& request) {
  if (request.runs < 1) return invalid("{} runs; at least one is timed", request.runs);
  return check_train_options(options_of(request));
}

Result<TrainBenchReport> bench_train(const std::string& path, const TrainBenchRequest& request,
                                     Device& cpu) {
  SHUNT_TRY(check_train_bench(request));
  return guarded([&]() -> Result<TrainBenchReport> {
    SHUNT_ASSIGN(const gguf::File file, gguf::File::open(path));
    SHUNT_ASSIGN(const auto model, read_model(file));
    const TrainOptions options = options_of(request);
    const TrainingText text = random_text(model->shape().vocabulary, options);
    SHUNT_ASSIGN(const auto trainer, Trainer::create(file, text, cpu, options));
    GraphBuilder g;
    SHUNT_ASSIGN(const LossGraph loss, model->build_loss(g, {options.context, options.rows}));
    SHUNT_TRY(g.output(loss.loss, "loss"));
    SHUNT_ASSIGN(const Graph graph, std::move(g).build());
    Products products(graph);
    SHUNT_ASSIGN(const double alone, products.measure(cpu, request.runs));
    std::vector<double> steps;
    for (int run = 0; run <= request.runs; ++run) {
      SHUNT_ASSIGN(const TrainStep step, trainer->step());
      if (run > 0) steps.push_back(step.seconds);
    }
    TrainBenchReport report;
    report.parameters = trainer->parameters();
    report.tokens = options.context * options.rows;
    report.step_seconds = summarize(steps).median;
    // Each product of the forward pass has two of the same size in the backward pass.
    report.operations = 3 * products.operations();
    report.products_alone_per_second = products.operations() / alone;
    return report;
  });
}

}  // namespace shunt
