// Computes y = silu(w x) on the devices of this machine.
#include <shunt/shunt.h>
#include <stdio.h>

using namespace shunt;

static Status run() {
  SHUNT_ASSIGN(Runtime runtime, Runtime::create());
  Builder g;
  auto w = g.weight<float>("w", {3, 2}, {1, 2, 3, -1, 0, 1});  // 2 rows of 3
  auto x = g.input<float>("x", {3});
  g.output("y", silu(matmul(w, x)));
  SHUNT_ASSIGN(Executable graph, runtime.compile(std::move(g)));
  printf("%s", graph.explain().c_str());

  for (int i = 0; i < 3; ++i) graph.input<float>("x")[i] = static_cast<float>(i);
  SHUNT_TRY(graph.run());
  for (float y : graph.output<float>("y")) printf("%g\n", y);  // silu(8), silu(2)
  return ok();
}

int main() {
  const Status done = run();
  if (!done) puts(done.error().message().c_str());
  return done ? 0 : 1;
}
