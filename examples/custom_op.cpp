// Adds an op of this program to a graph: y = 1 where x is positive, else -1.
#include <shunt/shunt.h>
#include <stdio.h>

using namespace shunt;

static Status sign(const CustomCall& call) {
  SHUNT_ASSIGN(const auto x, call.source<float>(0));
  SHUNT_ASSIGN(const auto y, call.result.as<float>());
  for (int i = 0; i < y.size(0); ++i) y(i) = x(i) > 0 ? 1.0F : -1.0F;
  return ok();
}

static Status run() {
  SHUNT_ASSIGN(Runtime runtime, Runtime::create());
  Builder g;
  g.output("y", custom({g.input<float>("x", {3})}, {"sign", Tensor{DType::kF32, {3}}, sign}));
  SHUNT_ASSIGN(Executable graph, runtime.compile(std::move(g)));
  graph.input<float>("x")[1] = 2;
  SHUNT_TRY(graph.run());
  for (float y : graph.output<float>("y")) printf("%g\n", y);  // -1, 1, -1
  return ok();
}

int main() {
  const Status done = run();
  if (!done) puts(done.error().message().c_str());
  return done ? 0 : 1;
}
