// Builds a small graph, y = silu(w x), runs it on the devices that are there, and prints the
// result.
#include <shunt/ops.h>
#include <shunt/plan.h>
#include <shunt/registry.h>

#include <cstdio>

using namespace shunt;

static Status run() {
  SHUNT_ASSIGN(const Options options, options_from_environment());
  SHUNT_ASSIGN(const auto registry, Registry::create(options));
  SHUNT_ASSIGN(const auto devices, registry->select({}));

  // Shapes are innermost first: w has 2 rows of 3.
  GraphBuilder g;
  SHUNT_ASSIGN(const Tensor w_tensor, make_tensor(DType::kF32, {3, 2}));
  SHUNT_ASSIGN(const Tensor x_tensor, make_tensor(DType::kF32, {3}));
  SHUNT_ASSIGN(const Value w, g.weight("w", w_tensor));
  SHUNT_ASSIGN(const Value x, g.input("x", x_tensor));
  SHUNT_ASSIGN(const Value y, silu(g, matmul(g, w, x)));
  SHUNT_TRY(g.output(y, "y"));
  SHUNT_ASSIGN(Graph built, std::move(g).build());
  const auto graph = std::make_shared<const Graph>(std::move(built));

  // The weight is in this program's own memory; nothing is copied.
  float weights[] = {1, 2, 3, -1, 0, 1};
  const auto buffer = wrap_host_memory(std::as_writable_bytes(std::span(weights)), {});
  const LeafMemory memory[] = {{w.id, {buffer.get(), 0}}};
  SHUNT_ASSIGN(const auto plan,
               make_plan(graph, devices, {.memory = memory}, {.steps_in_flight = 1}));
  const Decision& decision = plan->placement().decisions[y.id];
  const std::string device(devices[static_cast<std::size_t>(decision.device)]->name());
  std::printf("y runs on %s: %s\n", device.c_str(), decision.reason.c_str());
  for (const std::string& note : plan->placement().notes) std::printf("%s\n", note.c_str());

  SHUNT_ASSIGN(const auto input, plan->input(x));
  auto* numbers = reinterpret_cast<float*>(input.data());
  for (int i = 0; i < 3; ++i) numbers[i] = static_cast<float>(i);
  SHUNT_TRY(plan->run());
  SHUNT_ASSIGN(const auto output, plan->output(y));
  const auto* results = reinterpret_cast<const float*>(output.data());
  std::printf("y = [%g, %g]\n", results[0], results[1]);  // silu(8) and silu(2)
  return ok();
}

int main() {
  const Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
