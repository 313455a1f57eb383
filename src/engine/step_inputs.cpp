#include "engine/step_inputs.h"

#include <algorithm>
#include <numeric>

#include "base/fail.h"

namespace shunt {

namespace {

constexpr std::uint16_t kHalfMinusInfinity = 0xfc00;

/// The elements of an input.
template <class T>
Result<std::span<T>> input(Plan& plan, Value leaf) {
  SHUNT_ASSIGN(const std::span<std::byte> bytes, plan.input(leaf));
  return std::span<T>(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T));
}

}  // namespace

Status check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary) {
  if (tokens.empty()) return invalid("there are no tokens to compute");
  for (std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      return invalid("token {} is not one of the model's {}", token, vocabulary);
    }
  }
  return ok();
}

Status fill_step(Plan& plan, const StepGraph& step, std::span<const std::int32_t> tokens,
                 std::int64_t length, std::int64_t outputs) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  SHUNT_TRY(plan.set_extent(step.token_count, count));
  SHUNT_TRY(plan.set_extent(step.output_count, outputs));
  SHUNT_TRY(plan.set_extent(step.row_count, length + count));
  SHUNT_ASSIGN(const auto ids, input<std::int32_t>(plan, step.tokens));
  SHUNT_ASSIGN(const auto positions, input<std::int32_t>(plan, step.positions));
  SHUNT_ASSIGN(const auto rows, input<std::int64_t>(plan, step.cache_rows));
  SHUNT_ASSIGN(const auto mask, input<std::uint16_t>(plan, step.mask));
  SHUNT_ASSIGN(const auto output_ids, input<std::int32_t>(plan, step.output_ids));
  if (step.row_numbers.id != kNoNode) {
    SHUNT_ASSIGN(const auto numbers, input<std::int32_t>(plan, step.row_numbers));
    std::iota(numbers.begin(), numbers.end(), 0);
  }
  const std::int64_t context = plan.graph().node(step.mask.id).result.size(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    ids[index] = tokens[index];
    positions[index] = static_cast<std::int32_t>(length + i);
    rows[index] = length + i;
    // A token may look at itself and at all before it.
    std::uint16_t* row = mask.data() + i * context;
    std::fill(row, row + length + i + 1, std::uint16_t{0});
    std::fill(row + length + i + 1, row + length + count, kHalfMinusInfinity);
  }
  for (std::int64_t i = 0; i < outputs; ++i) {
    output_ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(count - outputs + i);
  }
  return ok();
}

}  // namespace shunt
