// Pins the second layer to the CPU. The first one is on the device that the scheduler prefers.
#include <shunt/shunt.h>
#include <stdio.h>

using namespace shunt;

static Status run() {
  SHUNT_ASSIGN(Runtime runtime, Runtime::create());
  Builder g;
  auto x = g.input<float>("x", {2});
  auto w = g.weight<float>("layer.0.w", {2, 2}, {1, 2, 3, 4});
  auto hidden = relu(matmul(w, x));
  auto y = matmul(g.weight<float>("layer.1.w", {2, 1}, {1, -1}), hidden);
  g.name(hidden, "layer.0").output("layer.1", y);

  const Pin pins[] = {{"layer\\.1.*", "cpu0"}};
  SHUNT_ASSIGN(Executable graph, runtime.compile(std::move(g), {.pins = pins}));
  printf("%s", graph.explain().c_str());
  graph.input<float>("x")[0] = 1;
  SHUNT_TRY(graph.run());
  printf("%g\n", graph.output<float>("layer.1")[0]);  // 1 - 3
  return ok();
}

int main() {
  const Status done = run();
  if (!done) puts(done.error().message().c_str());
  return done ? 0 : 1;
}
