#include "backend_support/cpu_threads.h"

#include "device/shared_parts.h"
#include "shunt/message.h"

namespace shunt {

namespace {

Result<std::shared_ptr<CpuThreads>> start_threads(const Options& options) {
  auto threads = std::make_shared<CpuThreads>();
  threads->topology = read_cpu_topology();
  const int count = options.threads > 0 ? options.threads : threads->topology.default_threads();
  SHUNT_ASSIGN(threads->pool, Pool::create(count, threads->topology, options.pin_threads));
  return threads;
}

}  // namespace

Status check_threads(int threads) {
  if (threads >= 0 && threads <= kMaxThreads) return ok();
  return invalid("{} threads: expected 1 to {}, or 0 for one per physical core", threads,
                 kMaxThreads);
}

Result<std::shared_ptr<CpuThreads>> share_cpu_threads(const Options& options) {
  SHUNT_TRY(check_threads(options.threads));
  const auto start = [&] { return start_threads(options); };
  if (options.shared == nullptr) return start();
  const std::string name = fmt::format("{} threads of the CPU, pinned as {}", options.threads,
                                       static_cast<int>(options.pin_threads));
  return options.shared->find_or_make<CpuThreads>(name, start);
}

}  // namespace shunt
