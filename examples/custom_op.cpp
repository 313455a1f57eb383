// Brings an operation along: y = x with each row divided by its largest element.
#include <shunt/ops.h>
#include <shunt/plan.h>
#include <shunt/registry.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace shunt;

/// Called by several threads at once, each time for some of the rows.
static Status divide_by_largest(const CustomCall& call) {
  SHUNT_ASSIGN(const auto x, call.source<float>(0));
  SHUNT_ASSIGN(const auto y, call.result.as<float>());
  const auto [begin, end] = call.share(y.size(1));
  for (std::int64_t row = begin; row < end; ++row) {
    float largest = 0;
    for (std::int64_t i = 0; i < x.size(0); ++i) largest = std::max(largest, std::abs(x(i, row)));
    if (largest == 0) return Error(ErrorCode::kInvalidArgument, "a row of zeros");
    for (std::int64_t i = 0; i < x.size(0); ++i) y(i, row) = x(i, row) / largest;
  }
  return ok();
}

static Result<Tensor> same_as_x(std::span<const Tensor> sources) {
  return sources[0];
}

static Status run() {
  SHUNT_ASSIGN(const Options options, options_from_environment());
  SHUNT_ASSIGN(const auto registry, Registry::create(options));
  SHUNT_ASSIGN(const auto devices, registry->select({}));

  GraphBuilder g;
  SHUNT_ASSIGN(const Tensor x_tensor, make_tensor(DType::kF32, {3, 2}));
  SHUNT_ASSIGN(const Value x, g.input("x", x_tensor));
  SHUNT_ASSIGN(const Value y, custom(g, {neg(g, x)},
                                     {.name = "divide_by_largest",
                                      .result = same_as_x,
                                      .function = divide_by_largest,
                                      .items = 2}));
  SHUNT_TRY(g.output(y, "y"));
  SHUNT_ASSIGN(Graph built, std::move(g).build());
  const auto graph = std::make_shared<const Graph>(std::move(built));
  SHUNT_ASSIGN(Placement placement, place(*graph, devices));
  SHUNT_ASSIGN(const auto plan, compile(graph, std::move(placement), {.steps_in_flight = 1}));

  SHUNT_ASSIGN(const auto input, plan->input(x));
  auto* numbers = reinterpret_cast<float*>(input.data());
  for (int i = 0; i < 6; ++i) numbers[i] = static_cast<float>(i);
  SHUNT_TRY(plan->run());
  SHUNT_ASSIGN(const auto output, plan->output(y));
  const auto* results = reinterpret_cast<const float*>(output.data());
  for (int i = 0; i < 6; ++i) std::printf("%g\n", results[i]);  // -0, -0.5, -1, -0.6, -0.8, -1
  return ok();
}

int main() {
  const Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
