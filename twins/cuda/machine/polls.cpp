#include "cuda/machine/polls.h"

#include <iterator>
#include <utility>

namespace cuda_twin {
namespace {

constexpr std::uint32_t kEnoughRepeats = 16;
constexpr std::uint64_t kLongestLoop = 512;  ///< instructions between two reads of a polling loop

}  // namespace

bool Polls::wait() const {
  return repeats >= kEnoughRepeats;
}

void Polls::add(std::uint32_t op, std::uint64_t fingerprint, std::uint64_t at) {
  const Read before = std::exchange(last[op % std::size(last)], {op, fingerprint, at});
  const bool same =
      before.op == op && before.fingerprint == fingerprint && at - before.at <= kLongestLoop;
  repeats = same ? repeats + 1 : 0;
}

}  // namespace cuda_twin
