#include "shunt/synth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/to_size.h"
#include "model/architectures/list.h"
#include "model/quantize_types.h"
#include "model/random_blocks.h"
#include "model/synth_keys.h"
#include "model/synth_noise.h"
#include "model/synth_vocabulary.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt {
namespace {

/// Types whose every number is encoded. (random_blocks.h describes the blocks of the others.)
constexpr DType kEncoded[] = {DType::kF32, DType::kF16, DType::kQ4_0, DType::kQ8_0, DType::kBF16};

struct Limit {
  std::string_view name;
  std::int64_t SynthOptions::*number;
  std::int64_t low;
  std::int64_t high;  ///< far above any model, far below any overflow
};
constexpr Limit kLimits[] = {
    {"layers", &SynthOptions::layers, 1, 10'000},
    {"width", &SynthOptions::width, 2, 1 << 20},
    {"ff", &SynthOptions::feed_forward, 1, 1 << 22},
    {"heads", &SynthOptions::heads, 1, 1 << 16},
    {"kv-heads", &SynthOptions::kv_heads, 1, 1 << 16},
    {"vocab", &SynthOptions::vocabulary, kSmallestVocabulary, 1 << 22},
    {"context", &SynthOptions::context, 1, 1 << 30},
    {"experts", &SynthOptions::experts, 0, 1 << 16},
    {"experts-used", &SynthOptions::experts_used, 0, 1 << 16},
    {"expert-ff", &SynthOptions::expert_feed_forward, 0, 1 << 22},
};

Status check_blocks(std::string_view name, std::int64_t size, DType dtype) {
  const std::int64_t block = trait(dtype).block_elements;
  if (size % block == 0) return ok();
  return invalid("{} {} is not a multiple of {}, the number of elements in a block of {}", name,
                 size, block, to_string(dtype));
}

/// A tensor to write: noise, or one number if `deviation` is 0.
struct Item {
  std::string name;
  Tensor tensor;
  float deviation = 0;
  float number = 1;
};

/// Whether a model of random weights has a weight that the architecture may lack.
bool is_wanted(const WeightRow& row, const SynthOptions& options) {
  if (row.slot == WeightSlot::kOutput) return !options.tied;
  return row.need == Need::kNeeded || facts_of(row.slot).role != WeightRole::kOther;
}

/// So scaled that outputs of matrices vary as much as inputs do.
Result<Item> make_item(const WeightRow& row, const Description& model, std::int64_t number,
                       DType dtype) {
  const SlotFacts& facts = facts_of(row.slot);
  const Sizes sizes = facts.sizes(model, model.layers[to_size(number)]);
  Shape shape;
  for (std::size_t i = 0; i < kMaxDims; ++i) shape[i] = sizes[i];
  const bool has_role = facts.role != WeightRole::kOther;
  Item item;
  item.name = name_of(row, number);
  SHUNT_ASSIGN(item.tensor, make_tensor(has_role ? dtype : DType::kF32, shape));
  if (starts_with_noise(facts)) {
    item.deviation = 1 / std::sqrt(static_cast<float>(sizes[0]));
  } else {
    item.number = start_of(facts);
  }
  return item;
}

/// Those of no layer first, then layer by layer.
Result<std::vector<Item>> list_items(const SynthOptions& options, const Description& model) {
  std::vector<Item> items;
  const auto add = [&](std::int64_t layer, bool in_layers) -> Status {
    for (const WeightRow& row : model.weights) {
      const SlotFacts& facts = facts_of(row.slot);
      if ((facts.is_in != nullptr) != in_layers || !is_wanted(row, options)) continue;
      if (in_layers && !facts.is_in(model.layers[to_size(layer)])) continue;
      SHUNT_ASSIGN(Item item, make_item(row, model, layer, options.dtype));
      items.push_back(std::move(item));
    }
    return ok();
  };
  SHUNT_TRY(add(0, false));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) SHUNT_TRY(add(layer, true));
  return items;
}

void add_general(gguf::Writer& writer, const SynthOptions& options) {
  writer.add_string("general.architecture", options.architecture);
  writer.add_string("general.name",
                    !options.name.empty()
                        ? options.name
                        : fmt::format("random weights, {} layers of width {}, seed {}",
                                      options.layers, options.width, options.seed));
  writer.add_u32("general.file_type", find_mixture(to_string(options.dtype))->file_type);
  writer.add_u32("general.quantization_version", 2);
}

constexpr std::string_view kTokenizerKeys = "tokenizer.";

/// The tokenizer of another file.
void copy_tokenizer(gguf::Writer& writer, const gguf::File& from) {
  for (const gguf::KeyValue& entry : from.metadata()) {
    if (entry.key.starts_with(kTokenizerKeys)) writer.add(entry.key, entry.value);
  }
}

/// The options with the vocabulary's size as the tokenizer has it.
Result<SynthOptions> with_tokenizer(SynthOptions options) {
  if (!options.tokenizer) return options;
  SHUNT_ASSIGN(const auto tokens,
               options.tokenizer->get_array("tokenizer.ggml.tokens", gguf::ValueType::kString));
  options.vocabulary = static_cast<std::int64_t>(tokens->size());
  return options;
}

/// Makes the bytes of one tensor after the other, in memory that they share.
class Encoder {
 public:
  explicit Encoder(std::uint64_t seed) : seed_(seed) {}

  std::span<const std::byte> encode(const Item& item, std::size_t index) {
    const std::uint64_t key = mix_bits(seed_ + mix_bits(index + 1));
    bytes_.resize(static_cast<std::size_t>(byte_span(item.tensor)));
    if (std::ranges::count(kEncoded, item.tensor.dtype) != 0) {
      encode_numbers(item, key);
    } else {
      pool_of(item).fill(bytes_, key);
    }
    convert_byte_order(item.tensor.dtype, std::endian::little, bytes_);
    return bytes_;
  }

 private:
  /// Matrices with as many inputs share one.
  const RandomBlocks& pool_of(const Item& item) {
    return pools_.try_emplace(item.deviation, item.tensor.dtype, item.deviation, mix_bits(seed_))
        .first->second;
  }

  void encode_numbers(const Item& item, std::uint64_t key) {
    constexpr std::int64_t kChunk = 8192;  // elements; a multiple of every block, and in the cache
    const DTypeTrait& type = trait(item.tensor.dtype);
    const std::int64_t count = element_count(item.tensor.shape);
    std::byte* to = bytes_.data();
    for (std::int64_t done = 0; done < count; done += kChunk) {
      numbers_.resize(static_cast<std::size_t>(std::min(kChunk, count - done)));
      if (item.deviation == 0) {
        std::ranges::fill(numbers_, item.number);
      } else {
        fill_noise(numbers_, key, static_cast<std::uint64_t>(done), item.deviation);
      }
      const auto size = static_cast<std::int64_t>(numbers_.size());
      type.encode(numbers_.data(), to, size);
      to += static_cast<std::size_t>(size / type.block_elements) * type.block_bytes;
    }
  }

  std::uint64_t seed_;
  std::map<float, RandomBlocks> pools_;  // by deviation
  std::vector<float> numbers_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Status check_synth_options(const SynthOptions& options) {
  if (find_description(options.architecture) == nullptr) {
    return invalid("architecture \"{}\" is not supported; Shunt supports {}", options.architecture,
                   architecture_names());
  }
  for (const Limit& limit : kLimits) {
    // A given tokenizer decides the number of tokens.
    if (options.tokenizer && limit.number == &SynthOptions::vocabulary) continue;
    const std::int64_t number = options.*limit.number;
    if (number < limit.low || number > limit.high) {
      return invalid("{} {} is not from {} to {}", limit.name, number, limit.low, limit.high);
    }
  }
  if (options.width % options.heads != 0) {
    return invalid("width {} can't be shared evenly by {} heads", options.width, options.heads);
  }
  if (options.heads % options.kv_heads != 0) {
    return invalid("{} heads can't share {} kv-heads evenly", options.heads, options.kv_heads);
  }
  if (options.width / options.heads % 2 != 0) {
    return invalid("a head has width {} / heads {} = {} elements, which must be even",
                   options.width, options.heads, options.width / options.heads);
  }
  if (!is_weight_type(options.dtype) || find_mixture(to_string(options.dtype)) == nullptr) {
    return invalid("weights can't be of type {}", to_string(options.dtype));
  }
  SHUNT_TRY(check_blocks("width", options.width, options.dtype));
  SHUNT_TRY(check_blocks("ff", options.feed_forward, options.dtype));
  return check_synth_experts(options);
}

Result<SynthResult> write_synth_model(const std::string& path, const SynthOptions& wanted,
                                      const SynthProgress& progress) {
  SHUNT_TRY(check_synth_options(wanted));
  SHUNT_ASSIGN(const SynthOptions options, with_tokenizer(wanted));
  gguf::Writer writer;
  add_general(writer, options);
  SHUNT_ASSIGN(const Description model, add_synth_keys(writer, options));
  SHUNT_ASSIGN(const std::vector<Item> items, list_items(options, model));
  if (options.tokenizer) {
    copy_tokenizer(writer, *options.tokenizer);
  } else {
    add_synth_vocabulary(writer, options.vocabulary);
  }
  SynthResult result;
  for (const Item& item : items) {
    SHUNT_TRY(writer.add_tensor(item.name, item.tensor));
    result.weights += static_cast<std::uint64_t>(element_count(item.tensor.shape));
    result.weight_bytes += static_cast<std::uint64_t>(byte_span(item.tensor));
  }
  Encoder encoder(options.seed);
  std::uint64_t done = 0;
  const auto make = [&](std::size_t index) -> Result<std::span<const std::byte>> {
    if (progress) SHUNT_TRY(progress(done, result.weight_bytes));
    const auto bytes = encoder.encode(items[index], index);
    done += bytes.size();
    return bytes;
  };
  SHUNT_TRY(writer.write(path, make));
  return result;
}

}  // namespace shunt
