// The host's time of a decode step on a CANN device: with a library that computes nothing and
// returns at once, so that no time of a device is in it.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <array>
#include <memory>
#include <string>

#include "shunt/engine.h"
#include "shunt/registry.h"

namespace shunt {
namespace {

/// The counts of the hollow library.
std::uint64_t count_of(const char* function) {
  void* const library = dlopen(CANN_HOLLOW "/libascendcl.so", RTLD_NOW);
  if (library == nullptr) return 0;
  auto* const counter = reinterpret_cast<std::uint64_t (*)()>(dlsym(library, function));
  const std::uint64_t count = counter == nullptr ? 0 : counter();
  dlclose(library);
  return count;
}

/// A session of the default model, whose step is taken back each time.
class Decoding {
 public:
  Status start(const char* graph, const char* executors) {
    Options options;
    options.threads = 1;
    options.libraries["cann"] = CANN_HOLLOW;
    options.backend_options["cann"] = {{"graph", graph}, {"executors", executors}};
    SHUNT_ASSIGN(registry_, Registry::create(options));
    SHUNT_ASSIGN(const auto devices, registry_->select(std::vector<std::string>{"cann0"}));
    SHUNT_ASSIGN(const std::string path, default_model());
    LoadOptions how;
    how.session.context = 128;
    how.placement.rules_only = true;
    SHUNT_ASSIGN(model_, Model::load(path, devices, how));
    SHUNT_ASSIGN(session_, Session::create(model_, how.session));
    SHUNT_TRY(session_->append(std::array{1, 2, 3}));
    for (int i = 0; i < 4; ++i) SHUNT_TRY(step());  // captures, or keeps executors
    return ok();
  }
  Status step() {
    SHUNT_TRY(session_->append(std::array{4}));
    return session_->truncate(3);
  }

 private:
  std::unique_ptr<Registry> registry_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Session> session_;
};

void host_time(benchmark::State& state, const char* graph, const char* executors) {
  Decoding decoding;
  if (const Status started = decoding.start(graph, executors); !started)
    return state.SkipWithError(to_text(started.error()).c_str());
  const auto launches = count_of("hollow_launches"), replays = count_of("hollow_replays");
  for (auto _ : state) {
    if (const Status status = decoding.step(); !status)
      return state.SkipWithError(to_text(status.error()).c_str());
  }
  const auto per_step = [&](const char* function, std::uint64_t before) {
    return static_cast<double>(count_of(function) - before) /
           static_cast<double>(state.iterations());
  };
  state.counters["launches"] = per_step("hollow_launches", launches);
  state.counters["replays"] = per_step("hollow_replays", replays);
}

BENCHMARK_CAPTURE(host_time, planned_each_time, "off", "0")
    ->Name("CANN, host time of a step/both phases")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(host_time, kept_executors, "off", "16384")
    ->Name("CANN, host time of a step/kept executors")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(host_time, replayed, "on", "16384")
    ->Name("CANN, host time of a step/replay")
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace shunt
