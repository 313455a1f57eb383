#include "engine/session/step_inputs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/ceil_div.h"
#include "base/to_size.h"
#include "device/device_set.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// The elements of an input.
template <class T>
Result<std::span<T>> input(Plan& plan, Value leaf) {
  SHUNT_ASSIGN(const std::span<std::byte> bytes, plan.input(leaf));
  return std::span<T>(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T));
}

std::int64_t size_of(std::span<const std::int32_t> tokens) {
  return static_cast<std::int64_t>(tokens.size());
}

/// The tokens of the part's sequence after the step.
std::int64_t length_after(const StepPart& part) {
  return part.length + size_of(part.tokens);
}

std::int64_t round_up(std::int64_t n, std::int64_t granularity, std::int64_t most) {
  return std::max(n, std::min(ceil_div(n, granularity) * granularity, most));
}

/// The inputs for the caches of all layers without a window, or of those with the same.
struct RowInputs {
  Dim row_count;
  Value cache_rows;
  Value row_numbers;
  Value block_table;
  std::optional<std::size_t> window = {};  ///< of StepGraph::windows

  WindowTable blocks(const StepPart& part) const {
    return window ? part.windows[*window] : WindowTable{0, part.blocks};
  }
};

std::vector<RowInputs> row_inputs(const StepGraph& step) {
  std::vector<RowInputs> all = {
      {step.row_count, step.cache_rows, step.row_numbers, step.block_table}};
  for (std::size_t i = 0; i < step.windows.size(); ++i) {
    const WindowCaches& window = step.windows[i];
    all.push_back({window.row_count, window.cache_rows, window.row_numbers, window.block_table, i});
  }
  return all;
}

/// Sets the number of rows up to the last one that is read.
Status set_row_count(Plan& plan, const RowInputs& inputs, std::span<const StepPart> parts,
                     std::int64_t granularity) {
  std::int64_t rows = 0;
  for (const StepPart& part : parts) {
    if (part.tokens.empty()) continue;
    const WindowTable table = inputs.blocks(part);
    // Entries before the table are those of whole blocks.
    if (table.first > 0) rows = std::max(rows, kCacheBlock);
    const std::int64_t length = length_after(part);
    for (std::int64_t i = table.first; i * kCacheBlock < length; ++i) {
      const std::int64_t used = std::min(length - i * kCacheBlock, kCacheBlock);
      rows = std::max(rows, table.blocks[to_size(i - table.first)] * kCacheBlock + used);
    }
  }
  return plan.set_dynamic_dim(inputs.row_count, round_up(rows, granularity, inputs.row_count.max));
}

Status fill_rows(Plan& plan, const RowInputs& inputs, std::span<const StepPart> parts) {
  SHUNT_ASSIGN(const auto rows, input<std::int64_t>(plan, inputs.cache_rows));
  SHUNT_ASSIGN(const auto entries, input<std::int32_t>(plan, inputs.block_table));
  if (inputs.row_numbers.id != kNoNode) {
    SHUNT_ASSIGN(const auto numbers, input<std::int32_t>(plan, inputs.row_numbers));
    std::iota(numbers.begin(), numbers.end(), 0);
  }
  std::ranges::fill(entries, 0);  // those that a device wanted, and those before a window
  std::size_t token = 0;
  std::size_t entry = 0;
  for (const StepPart& part : parts) {
    if (part.tokens.empty()) continue;
    const WindowTable table = inputs.blocks(part);
    const auto block = [&](std::int64_t i) { return table.blocks[to_size(i - table.first)]; };
    const std::int64_t blocks = ceil_div(length_after(part), kCacheBlock);
    for (std::int64_t i = table.first; i < blocks; ++i)
      entries[entry + to_size(i)] = static_cast<std::int32_t>(block(i));
    entry += to_size(blocks);
    for (std::int64_t position = part.length; position < length_after(part); ++position)
      rows[token++] = block(position / kCacheBlock) * kCacheBlock + position % kCacheBlock;
  }
  return ok();
}

Status fill_slots(Plan& plan, const StepGraph& step, std::span<const StepPart> parts) {
  if (step.states.empty()) return ok();
  SHUNT_ASSIGN(const auto sources, input<std::int32_t>(plan, step.state_sources));
  SHUNT_ASSIGN(const auto targets, input<std::int64_t>(plan, step.state_targets));
  std::size_t sequence = 0;
  for (const StepPart& part : parts) {
    if (part.tokens.empty()) continue;
    sources[sequence] = static_cast<std::int32_t>(part.slots.source);
    targets[sequence++] = part.slots.target;
  }
  return ok();
}

Status fill_types(Plan& plan, const StepGraph& step, std::span<const StepPart> parts) {
  if (step.token_types.id == kNoNode) return ok();
  SHUNT_ASSIGN(const auto types, input<std::int32_t>(plan, step.token_types));
  std::size_t token = 0;
  for (const StepPart& part : parts) {
    for (std::int64_t position = part.length; position < length_after(part); ++position)
      types[token++] = part.second_text >= 0 && position >= part.second_text ? 1 : 0;
  }
  return ok();
}

/// The columns of tokens or outputs that use adapters.
struct UsedColumns {
  std::vector<std::int32_t> columns = {};
  std::vector<std::span<const AdapterUse>> uses = {};  // by column

  void add(std::size_t column, std::span<const AdapterUse> of_column) {
    columns.push_back(static_cast<std::int32_t>(column));
    uses.push_back(of_column);
  }
};

struct UsedAdapters {
  UsedColumns tokens;
  UsedColumns outputs;
  std::vector<std::int32_t> ids;  // of these tokens
};

UsedAdapters used_adapters(std::span<const StepPart> parts) {
  UsedAdapters used;
  std::size_t token = 0;
  std::size_t output = 0;
  for (const StepPart& part : parts) {
    for (std::size_t i = 0; i < part.tokens.size() && !part.adapters.empty(); ++i) {
      used.tokens.add(token + i, part.adapters);
      used.ids.push_back(part.tokens[i]);
    }
    token += part.tokens.size();
    if (part.tokens.empty()) continue;
    const std::size_t outputs = to_size(part.outputs);
    for (std::size_t i = 0; i < outputs && !part.adapters.empty(); ++i)
      used.outputs.add(output + i, part.adapters);
    output += outputs;
  }
  return used;
}

Status fill_columns(Plan& plan, const StepGraph& step, const AdaptedColumns& at,
                    const UsedColumns& used) {
  SHUNT_TRY(plan.set_dynamic_dim(at.count, std::ssize(used.columns)));
  SHUNT_ASSIGN(const auto columns, input<std::int32_t>(plan, at.columns));
  SHUNT_ASSIGN(const auto ids, input<std::int32_t>(plan, at.ids));
  SHUNT_ASSIGN(const auto scales, input<float>(plan, at.scales));
  std::ranges::copy(used.columns, columns.begin());
  const std::size_t most = to_size(step.adapter_uses);
  for (std::size_t i = 0; i < used.uses.size(); ++i) {
    const std::span<const AdapterUse> uses = used.uses[i];
    if (uses.size() > most) {
      return fail(ErrorCode::kInternal, "a sequence uses {}, but the step has room for {}",
                  counted(uses.size(), "adapter"), most);
    }
    for (std::size_t use = 0; use < most; ++use) {
      const bool is_there = use < uses.size();
      ids[i * most + use] = static_cast<std::int32_t>(uses[is_there ? use : 0].index);
      scales[i * most + use] = is_there ? uses[use].scale : 0;
    }
  }
  if (at.row_scales.id == kNoNode) return ok();
  SHUNT_ASSIGN(const auto rows, input<float>(plan, at.row_scales));
  const std::size_t ranks = to_size(step.graph.node(at.row_scales.id).result.size(0));
  std::ranges::fill(rows.first(used.uses.size() * ranks), 0.0F);
  const std::size_t rank = to_size(step.adapter_rank);
  for (std::size_t i = 0; i < used.uses.size(); ++i) {
    for (const AdapterUse& use : used.uses[i])
      std::ranges::fill(rows.subspan(i * ranks + use.index * rank, rank), use.scale);
  }
  return ok();
}

Status fill_adapters(Plan& plan, const StepGraph& step, std::span<const StepPart> parts) {
  if (step.adapted_tokens.columns.id == kNoNode) return ok();
  const UsedAdapters used = used_adapters(parts);
  SHUNT_TRY(fill_columns(plan, step, step.adapted_tokens, used.tokens));
  SHUNT_TRY(fill_columns(plan, step, step.adapted_outputs, used.outputs));
  SHUNT_ASSIGN(const auto ids, input<std::int32_t>(plan, step.adapted_ids));
  std::ranges::copy(used.ids, ids.begin());
  return ok();
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

std::int64_t row_granularity(const Plan& plan, std::int64_t context) {
  std::set<int> computing;
  for (const Segment& segment : plan.segments()) computing.insert(segment.device);
  std::int64_t all = 1;
  for (const int index : computing) {
    const Device& device = device_at(plan.placement().devices, index);
    const std::int64_t own = std::max<std::int64_t>(device.info().dynamic_dim_granularity, 1);
    // Beyond the context there is nothing to round up to; so the product can't overflow.
    if (own >= context || all >= context) return context;
    all = std::lcm(all, own);
  }
  return std::min(all, context);
}

Status fill_step(Plan& plan, const StepGraph& step, std::span<const StepPart> parts,
                 std::int64_t granularity) {
  std::int64_t token_count = 0;
  std::int64_t output_count = 0;
  std::int64_t sequence_count = 0;
  std::int64_t block_count = 0;
  for (const StepPart& part : parts) {
    if (part.tokens.empty()) continue;
    token_count += size_of(part.tokens);
    output_count += part.outputs;
    ++sequence_count;
    block_count += ceil_div(length_after(part), kCacheBlock);
  }
  const std::int64_t entries = round_up(
      block_count, std::max<std::int64_t>(granularity / kCacheBlock, 1), step.block_count.max);
  SHUNT_TRY(plan.set_dynamic_dim(step.sequence_count, sequence_count));
  SHUNT_TRY(plan.set_dynamic_dim(step.block_count, entries));
  SHUNT_TRY(plan.set_dynamic_dim(step.token_count, token_count));
  SHUNT_TRY(plan.set_dynamic_dim(step.output_count, output_count));
  const std::vector<RowInputs> caches = row_inputs(step);
  for (const RowInputs& each : caches) SHUNT_TRY(set_row_count(plan, each, parts, granularity));
  SHUNT_ASSIGN(const auto ids, input<std::int32_t>(plan, step.tokens));
  SHUNT_ASSIGN(const auto positions, input<std::int32_t>(plan, step.positions));
  SHUNT_ASSIGN(const auto sequences, input<std::int32_t>(plan, step.sequences));
  SHUNT_ASSIGN(const auto output_ids, input<std::int32_t>(plan, step.output_ids));
  for (const RowInputs& each : caches) SHUNT_TRY(fill_rows(plan, each, parts));
  SHUNT_TRY(fill_slots(plan, step, parts));
  SHUNT_TRY(fill_types(plan, step, parts));
  SHUNT_TRY(fill_adapters(plan, step, parts));
  std::size_t token = 0;
  std::size_t output = 0;
  std::size_t sequence = 0;
  std::size_t entry = 0;
  for (const StepPart& part : parts) {
    if (part.tokens.empty()) continue;
    sequences[sequence++] = static_cast<std::int32_t>(token + part.tokens.size());
    sequences[sequence++] = static_cast<std::int32_t>(length_after(part));
    sequences[sequence++] = static_cast<std::int32_t>(entry);
    entry += to_size(ceil_div(length_after(part), kCacheBlock));
    for (std::size_t i = 0; i < part.tokens.size(); ++i, ++token) {
      const std::int64_t position = part.length + static_cast<std::int64_t>(i);
      ids[token] = part.tokens[i];
      positions[token] = static_cast<std::int32_t>(position);
    }
    for (std::int64_t i = 0; i < part.outputs; ++i, ++output) {
      output_ids[output] =
          static_cast<std::int32_t>(static_cast<std::int64_t>(token) - part.outputs + i);
    }
  }
  return ok();
}

Status fill_step(Plan& plan, const StepGraph& step, std::span<const std::int32_t> tokens,
                 std::int64_t length, std::int64_t outputs, std::span<const AdapterUse> adapters) {
  std::vector<std::int64_t> blocks(to_size(ceil_div(length + size_of(tokens), kCacheBlock)));
  std::iota(blocks.begin(), blocks.end(), 0);
  const SlotPair slots = {length == 0 ? StateSlots::kZero : 1, 1};
  StepPart only = {tokens, length, outputs, blocks, slots};
  only.adapters = adapters;
  std::vector<std::vector<std::int64_t>> of_windows;  // the blocks of a cache in turn
  of_windows.reserve(step.windows.size());
  for (const WindowCaches& window : step.windows) {
    std::vector<std::int64_t>& in_turn = of_windows.emplace_back();
    const std::int64_t first = first_window_block(length, window.window);
    for (std::int64_t i = first; i < std::ssize(blocks); ++i)
      in_turn.push_back(i % ceil_div(window.row_count.max, kCacheBlock));
    only.windows.push_back({first, in_turn});
  }
  return fill_step(plan, step, {&only, 1});
}

}  // namespace shunt
