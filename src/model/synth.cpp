#include "shunt/synth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "model/quantize_types.h"
#include "model/random_blocks.h"
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
};

Status check_blocks(std::string_view name, std::int64_t size, DType dtype) {
  const std::int64_t block = trait(dtype).block_elements;
  if (size % block == 0) return ok();
  return invalid("{} {} is not a multiple of {}, the number of elements in a block of {}", name,
                 size, block, to_string(dtype));
}

/// A tensor to write; `deviation` 0 means a tensor of ones.
struct Item {
  std::string name;
  Tensor tensor;
  float deviation = 0;
};

class Items {
 public:
  explicit Items(DType dtype) : dtype_(dtype) {}

  /// [inputs, outputs], so scaled that outputs vary as much as inputs do.
  Status add_matrix(std::string name, std::int64_t inputs, std::int64_t outputs) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(dtype_, {inputs, outputs}));
    items_.push_back({std::move(name), tensor, 1 / std::sqrt(static_cast<float>(inputs))});
    return ok();
  }
  Status add_norm(std::string name, std::int64_t size) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF32, {size}));
    items_.push_back({std::move(name), tensor, 0});
    return ok();
  }
  std::vector<Item> take() { return std::move(items_); }

 private:
  DType dtype_;
  std::vector<Item> items_;
};

Result<std::vector<Item>> list_items(const SynthOptions& options) {
  const std::int64_t width = options.width;
  const std::int64_t kv_width = width / options.heads * options.kv_heads;
  Items items(options.dtype);
  SHUNT_TRY(items.add_matrix("token_embd.weight", width, options.vocabulary));
  SHUNT_TRY(items.add_norm("output_norm.weight", width));
  if (!options.tied) SHUNT_TRY(items.add_matrix("output.weight", width, options.vocabulary));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const auto name = [&](const char* what) {
      return fmt::format("blk.{}.{}.weight", layer, what);
    };
    SHUNT_TRY(items.add_norm(name("attn_norm"), width));
    SHUNT_TRY(items.add_matrix(name("attn_q"), width, width));
    SHUNT_TRY(items.add_matrix(name("attn_k"), width, kv_width));
    SHUNT_TRY(items.add_matrix(name("attn_v"), width, kv_width));
    SHUNT_TRY(items.add_matrix(name("attn_output"), width, width));
    SHUNT_TRY(items.add_norm(name("ffn_norm"), width));
    SHUNT_TRY(items.add_matrix(name("ffn_gate"), width, options.feed_forward));
    SHUNT_TRY(items.add_matrix(name("ffn_up"), width, options.feed_forward));
    SHUNT_TRY(items.add_matrix(name("ffn_down"), options.feed_forward, width));
  }
  return items.take();
}

void add_metadata(gguf::Writer& writer, const SynthOptions& options) {
  const auto add = [&](const char* key, std::int64_t number) {
    writer.add_u32(fmt::format("llama.{}", key), static_cast<std::uint32_t>(number));
  };
  writer.add_string("general.architecture", "llama");
  writer.add_string("general.name",
                    !options.name.empty()
                        ? options.name
                        : fmt::format("random weights, {} layers of width {}, seed {}",
                                      options.layers, options.width, options.seed));
  writer.add_u32("general.file_type", find_mixture(to_string(options.dtype))->file_type);
  writer.add_u32("general.quantization_version", 2);
  add("vocab_size", options.vocabulary);
  add("context_length", options.context);
  add("embedding_length", options.width);
  add("block_count", options.layers);
  add("feed_forward_length", options.feed_forward);
  add("attention.head_count", options.heads);
  add("attention.head_count_kv", options.kv_heads);
  add("rope.dimension_count", options.width / options.heads);
  writer.add_f32("llama.rope.freq_base", 10000);
  writer.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
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
        std::ranges::fill(numbers_, 1.0f);
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
  return check_blocks("ff", options.feed_forward, options.dtype);
}

Result<SynthResult> write_synth_model(const std::string& path, const SynthOptions& wanted,
                                      const SynthProgress& progress) {
  SHUNT_TRY(check_synth_options(wanted));
  SHUNT_ASSIGN(const SynthOptions options, with_tokenizer(wanted));
  SHUNT_ASSIGN(const std::vector<Item> items, list_items(options));
  gguf::Writer writer;
  add_metadata(writer, options);
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
