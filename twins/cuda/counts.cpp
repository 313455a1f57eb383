#include "cuda/counts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "common/counters.h"
#include "cuda/driver/functions.h"

namespace cuda_twin {
namespace {

constexpr std::size_t kFindingsKept = 1000;

constinit twin::Counters<4> copies;
constinit twin::Counters<4> copied_bytes;

constexpr std::size_t kMostParameterSets = 65'536;

struct Kept {
  std::mutex mutex;
  std::map<std::string, std::set<std::size_t>> parameters;  // hashes, by kernel
  std::map<std::string, cuda_twin_kernel_counts> kernels;
  cuda_twin_kernel_counts all{};
  std::vector<Finding> findings;
};
/// Never destroyed, as calls come while a process exits.
Kept& kept() {
  static Kept& only = *new Kept;
  return only;
}

void add(cuda_twin_kernel_counts& sum, const LaunchCounts& counts) {
  ++sum.launches;
  sum.blocks += counts.blocks;
  for (unsigned kind = 0; kind < kOpKinds; ++kind) {
    sum.kinds[kind] += counts.instructions[kind];
    sum.instructions += counts.instructions[kind];
  }
  sum.global_bytes_read += counts.global_bytes_read;
  sum.global_bytes_written += counts.global_bytes_written;
  sum.global_sectors += counts.global_sectors;
  sum.bank_conflicts += counts.bank_conflicts;
  sum.worst_bank_conflict = std::max(sum.worst_bank_conflict, counts.worst_bank_conflict);
  sum.blocks_without_write += counts.blocks_without_write;
}

}  // namespace

void count_launch(const std::string& kernel, const LaunchCounts& counts,
                  std::span<const std::byte> parameters) {
  const std::string_view bytes(reinterpret_cast<const char*>(parameters.data()), parameters.size());
  const std::size_t hash = std::hash<std::string_view>()(bytes);
  Kept& state = kept();
  const std::lock_guard lock(state.mutex);
  std::set<std::size_t>& sets = state.parameters[kernel];
  if (sets.size() < kMostParameterSets && sets.insert(hash).second) {
    ++state.kernels[kernel].parameter_sets;
    ++state.all.parameter_sets;
  }
  add(state.kernels[kernel], counts);
  add(state.all, counts);
}

void count_copy(cuda_twin_direction direction, std::uint64_t bytes) {
  copies.add(static_cast<std::size_t>(direction));
  copied_bytes.add(static_cast<std::size_t>(direction), bytes);
}

void keep_findings(const std::vector<Finding>& findings) {
  Kept& state = kept();
  const std::lock_guard lock(state.mutex);
  for (const Finding& finding : findings) {
    if (state.findings.size() < kFindingsKept) state.findings.push_back(finding);
  }
}

void reset_counts() {
  Kept& state = kept();
  copies.reset();
  copied_bytes.reset();
  reset_call_counts();
  const std::lock_guard lock(state.mutex);
  state.kernels.clear();
  state.parameters.clear();
  state.all = {};
}

void drop_findings() {
  Kept& state = kept();
  const std::lock_guard lock(state.mutex);
  state.findings.clear();
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

int cuda_twin_count_kernel(const char* kernel, cuda_twin_kernel_counts* counts) {
  if (counts == nullptr) return 0;
  Kept& state = kept();
  const std::lock_guard lock(state.mutex);
  if (kernel == nullptr) {
    *counts = state.all;
    return state.all.launches > 0 ? 1 : 0;
  }
  const auto at = state.kernels.find(kernel);
  *counts = at == state.kernels.end() ? cuda_twin_kernel_counts{} : at->second;
  return at == state.kernels.end() ? 0 : 1;
}

uint64_t cuda_twin_count_copies(cuda_twin_direction direction) {
  return copies.value(static_cast<std::size_t>(direction));
}

uint64_t cuda_twin_count_copied_bytes(cuda_twin_direction direction) {
  return copied_bytes.value(static_cast<std::size_t>(direction));
}

uint64_t cuda_twin_count_calls(const char* function) {
  return calls_of(function);
}

void cuda_twin_reset_counts(void) {
  reset_counts();
}

size_t cuda_twin_findings(void) {
  Kept& state = kept();
  const std::lock_guard lock(state.mutex);
  return state.findings.size();
}

int cuda_twin_finding(size_t index, const char** check, const char** text) {
  Kept& state = kept();
  const std::lock_guard lock(state.mutex);
  if (index >= state.findings.size()) return 0;
  thread_local Finding shown;  // others may drop or add findings while the caller reads
  shown = state.findings[index];
  if (check != nullptr) *check = shown.check.c_str();
  if (text != nullptr) *text = shown.text.c_str();
  return 1;
}

void cuda_twin_drop_findings(void) {
  drop_findings();
}

}  // extern "C"
