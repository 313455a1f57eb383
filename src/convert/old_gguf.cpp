#include "convert/old_gguf.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/to_size.h"
#include "gguf/without_data.h"
#include "model/quantize_types.h"
#include "shunt/message.h"
#include "tensor/byte_order.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

constexpr std::string_view kBoth = ".attn_kv_b.weight";

/// The sizes of latent attention, by the keys of an old file.
struct LatentSizes {
  std::int64_t heads = 0;
  std::int64_t key = 0;    ///< elements of a key
  std::int64_t plain = 0;  ///< elements of a key without its turned part
  std::int64_t value = 0;

  std::int64_t rows_of_head() const { return plain + value; }
};

/// A tensor of the new file.
struct RenewedTensor {
  enum class Form : std::uint8_t { kRows, kLatentKeys, kLatentValues };

  gguf::TensorInfo info;
  std::vector<const gguf::TensorInfo*> from;  ///< of kRows: one after another
  Form form = Form::kRows;
};

std::int64_t rows_of(const gguf::TensorInfo& info) {
  return info.tensor.size(1) * info.tensor.size(2) * info.tensor.size(3);
}

/// "blk.3.ffn_gate.5.weight": the stack "blk.3.ffn_gate_exps.weight", and 5.
struct ExpertName {
  std::string stack;
  std::size_t number = 0;
};

std::optional<ExpertName> expert_name(std::string_view name) {
  constexpr std::string_view kEnd = ".weight";
  if (!name.starts_with("blk.") || !name.ends_with(kEnd)) return std::nullopt;
  name.remove_suffix(kEnd.size());
  const std::size_t dot = name.rfind('.');
  const std::string_view digits = name.substr(dot + 1);
  // "00" is no number of an expert: two names would be one.
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  ExpertName found;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), found.number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  const std::string_view stem = name.substr(0, dot);
  const bool is_expert =
      stem.ends_with(".ffn_gate") || stem.ends_with(".ffn_up") || stem.ends_with(".ffn_down");
  if (!is_expert) return std::nullopt;
  found.stack = fmt::format("{}_exps.weight", stem);
  return found;
}

/// A description of the new tensor; its offset means nothing.
Result<gguf::TensorInfo> describe(std::string name, DType type, const Shape& shape,
                                  std::endian order) {
  gguf::TensorInfo info;
  info.name = std::move(name);
  SHUNT_ASSIGN(info.tensor, make_tensor(type, shape));
  info.bytes = static_cast<std::uint64_t>(byte_span(info.tensor));
  info.order = order;
  return info;
}

/// Makes the list of tensors of the new file.
class Renewal {
 public:
  explicit Renewal(const gguf::File& file) : file_(file) {}

  Result<std::vector<RenewedTensor>> tensors() {
    collect_experts();
    std::vector<RenewedTensor> all;
    std::set<std::string> stacks;
    for (const gguf::TensorInfo& info : file_.tensors()) {
      if (const auto name = expert_name(info.name)) {
        if (!stacks.insert(name->stack).second) continue;
        SHUNT_ASSIGN(RenewedTensor stack, stacked(name->stack));
        all.push_back(std::move(stack));
      } else if (info.name.ends_with(kBoth)) {
        SHUNT_TRY(add_latent(info, all));
      } else if (is_made_of_both(info.name)) {
        continue;
      } else {
        all.push_back({.info = info, .from = {&info}});
        all.back().info.part = 0;
      }
    }
    return all;
  }

  bool has_stacks() const { return !experts_.empty(); }
  const std::optional<LatentSizes>& latent() const { return latent_; }

 private:
  /// attn_k_b or attn_v_b of a layer that has attn_kv_b, too.
  bool is_made_of_both(std::string_view name) const {
    for (const std::string_view end : {".attn_k_b.weight", ".attn_v_b.weight"}) {
      if (!name.ends_with(end)) continue;
      name.remove_suffix(end.size());
      return file_.find_tensor(fmt::format("{}{}", name, kBoth)) != nullptr;
    }
    return false;
  }

  void collect_experts() {
    for (const gguf::TensorInfo& info : file_.tensors()) {
      const auto name = expert_name(info.name);
      if (!name) continue;
      experts_[name->stack].emplace(name->number, &info);
    }
  }

  Result<RenewedTensor> stacked(const std::string& name) const {
    RenewedTensor made;
    for (const auto& [number, info] : experts_.at(name)) {
      if (number != made.from.size()) {
        return fail(ErrorCode::kBadFile, "{}: {} lacks its expert {}", file_.path(), name,
                    made.from.size());
      }
      made.from.push_back(info);
    }
    const gguf::TensorInfo& first = *made.from.front();
    for (const gguf::TensorInfo* const info : made.from) {
      if (info->tensor.dtype == first.tensor.dtype && info->order == first.order &&
          info->tensor.size(0) == first.tensor.size(0) &&
          info->tensor.size(1) == first.tensor.size(1) && rows_of(*info) == info->tensor.size(1))
        continue;
      return fail(ErrorCode::kBadFile, "{}: tensor {} is {}, but {} is {}; experts must be alike",
                  file_.path(), info->name, to_string(info->tensor), first.name,
                  to_string(first.tensor));
    }
    SHUNT_ASSIGN(
        made.info,
        describe(name, first.tensor.dtype,
                 {first.tensor.size(0), first.tensor.size(1), std::ssize(made.from)}, first.order));
    return made;
  }

  Result<LatentSizes> read_latent() const {
    SHUNT_ASSIGN(const std::string architecture, file_.get_string("general.architecture"));
    const auto size = [&](const std::string& name) -> Result<std::int64_t> {
      const std::string key = architecture + "." + name;
      SHUNT_ASSIGN(const std::int64_t number, file_.get_integer(key));
      constexpr std::int64_t kMost = std::int64_t{1} << 30;
      if (number >= 1 && number <= kMost) return number;
      return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be from 1 to {}", file_.path(), key,
                  number, kMost);
    };
    LatentSizes sizes;
    SHUNT_ASSIGN(sizes.heads, size("attention.head_count"));
    // Files that have both forms have the keys of both.
    const bool both = file_.find(architecture + ".attention.key_length_mla") != nullptr;
    const std::string end = both ? "_mla" : "";
    SHUNT_ASSIGN(sizes.key, size("attention.key_length" + end));
    SHUNT_ASSIGN(sizes.value, size("attention.value_length" + end));
    SHUNT_ASSIGN(const std::int64_t turned, size("rope.dimension_count"));
    sizes.plain = sizes.key - turned;
    if (sizes.plain >= 1) return sizes;
    return fail(ErrorCode::kBadFile, "{}: of {} elements of a key, {} are turned by rope",
                file_.path(), sizes.key, turned);
  }

  /// Its rows are, for each head, those that make keys, then those that make values.
  Status add_latent(const gguf::TensorInfo& info, std::vector<RenewedTensor>& all) {
    if (!latent_) {
      SHUNT_ASSIGN(latent_, read_latent());
    }
    const LatentSizes& sizes = *latent_;
    const std::int64_t rank = info.tensor.size(0);
    if (rows_of(info) != saturating_multiply(sizes.heads, sizes.rows_of_head())) {
      return fail(ErrorCode::kBadFile, "{}: tensor {} is {}; {} heads of {} + {} rows are expected",
                  file_.path(), info.name, to_string(info.tensor), sizes.heads, sizes.plain,
                  sizes.value);
    }
    const auto name = [&](const char* end) {
      return info.name.substr(0, info.name.size() - std::string_view("kv_b.weight").size()) + end;
    };
    // Columns become rows: blocks have other elements, so that quantized ones need a finer type.
    DType type = info.tensor.dtype;
    if (trait(type).block_elements > 1) {
      const bool is_whole = sizes.plain % trait(DType::kQ8_0).block_elements == 0;
      type = is_whole ? DType::kQ8_0 : DType::kF16;
    }
    RenewedTensor keys;
    keys.from = {&info};
    keys.form = RenewedTensor::Form::kLatentKeys;
    SHUNT_ASSIGN(keys.info, describe(name("k_b.weight"), type, {sizes.plain, rank, sizes.heads},
                                     std::endian::little));
    RenewedTensor values;
    values.from = {&info};
    values.form = RenewedTensor::Form::kLatentValues;
    SHUNT_ASSIGN(values.info, describe(name("v_b.weight"), info.tensor.dtype,
                                       {rank, sizes.value, sizes.heads}, info.order));
    all.push_back(std::move(keys));
    all.push_back(std::move(values));
    return ok();
  }

  const gguf::File& file_;
  // By name of the stack, and by number.
  std::map<std::string, std::map<std::size_t, const gguf::TensorInfo*>> experts_;
  std::optional<LatentSizes> latent_;
};

/// The keys of today: a cached row has the rank's elements and those that rope turns.
std::vector<gguf::KeyValue> renewed_keys(const gguf::File& file,
                                         const std::optional<LatentSizes>& latent) {
  std::vector<gguf::KeyValue> keys(file.metadata().begin(), file.metadata().end());
  if (!latent) return keys;
  const std::string prefix =
      file.get_string_or("general.architecture", "").value_or("") + ".attention.";
  const std::int64_t rank = file.get_integer_or(prefix + "kv_lora_rank", 0).value_or(0);
  const std::map<std::string, std::int64_t> numbers = {
      {prefix + "head_count_kv", 1},
      {prefix + "key_length", rank + latent->key - latent->plain},
      {prefix + "value_length", rank},
      {prefix + "key_length_mla", latent->key},
      {prefix + "value_length_mla", latent->value}};
  std::erase_if(keys, [&](const gguf::KeyValue& each) { return numbers.contains(each.key); });
  for (const auto& [name, number] : numbers)
    keys.push_back({name, {gguf::ValueType::kU32, static_cast<std::uint64_t>(number)}});
  return keys;
}

/// Gives the rows of the new tensors.
class RenewedRows {
 public:
  RenewedRows(gguf::File file, std::vector<RenewedTensor> tensors, LatentSizes latent)
      : file_(std::move(file)), tensors_(std::move(tensors)), latent_(latent) {}

  Result<std::span<const std::byte>> read(std::size_t index, std::int64_t first,
                                          std::int64_t count) {
    const RenewedTensor& tensor = tensors_[index];
    const gguf::TensorInfo& source = *tensor.from.front();
    if (tensor.form == RenewedTensor::Form::kLatentKeys) {
      SHUNT_TRY(read_keys(tensor, first, count));
      return std::span<const std::byte>(rows_);
    }
    const std::size_t bytes = row_bytes(tensor.info);
    if (tensor.form == RenewedTensor::Form::kRows && tensor.from.size() == 1)
      return file_.data(source).subspan(to_size(first) * bytes, to_size(count) * bytes);
    rows_.resize(to_size(count) * bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto from = old_row(tensor, first + i);
      std::memcpy(rows_.data() + to_size(i) * bytes, from.data(), bytes);
    }
    return std::span<const std::byte>(rows_);
  }

 private:
  static std::size_t row_bytes(const gguf::TensorInfo& info) {
    return static_cast<std::size_t>(info.bytes) / to_size(rows_of(info));
  }

  std::span<const std::byte> old_row(const RenewedTensor& tensor, std::int64_t row) const {
    const gguf::TensorInfo* source = tensor.from.front();
    if (tensor.form == RenewedTensor::Form::kLatentValues) {
      row = row / latent_.value * latent_.rows_of_head() + latent_.plain + row % latent_.value;
    } else {
      source = tensor.from[to_size(row / rows_of(*source))];
      row %= rows_of(*source);
    }
    const std::size_t bytes = row_bytes(*source);
    return file_.data(*source).subspan(to_size(row) * bytes, bytes);
  }

  /// Row r of a head has element r of each of its rows that make keys.
  Status read_keys(const RenewedTensor& tensor, std::int64_t first, std::int64_t count) {
    const gguf::TensorInfo& source = *tensor.from.front();
    const std::int64_t rank = source.tensor.size(0);
    const std::size_t bytes = row_bytes(tensor.info);
    rows_.resize(to_size(count) * bytes);
    numbers_.resize(to_size(latent_.plain));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = first + i;
      SHUNT_TRY(decode_head(source, row / rank));
      for (std::size_t k = 0; k < numbers_.size(); ++k)
        numbers_[k] = head_[k * to_size(rank) + to_size(row % rank)];
      const auto to = std::span(rows_).subspan(to_size(i) * bytes, bytes);
      SHUNT_TRY(encode_row(tensor.info.tensor.dtype, numbers_, {}, to));
      convert_byte_order(tensor.info.tensor.dtype, std::endian::little, to);
    }
    return ok();
  }

  Status decode_head(const gguf::TensorInfo& source, std::int64_t head) {
    if (decoded_ == &source && decoded_head_ == head) return ok();
    const std::int64_t rank = source.tensor.size(0);
    const std::size_t bytes = row_bytes(source);
    head_.resize(to_size(latent_.plain * rank));
    for (std::int64_t k = 0; k < latent_.plain; ++k) {
      const std::size_t row = to_size(head * latent_.rows_of_head() + k);
      const auto from = file_.data(source).subspan(row * bytes, bytes);
      old_row_.assign(from.begin(), from.end());
      convert_byte_order(source.tensor.dtype, source.order, old_row_);
      trait(source.tensor.dtype).decode(old_row_.data(), head_.data() + to_size(k * rank), rank);
    }
    decoded_ = &source;
    decoded_head_ = head;
    return ok();
  }

  gguf::File file_;
  std::vector<RenewedTensor> tensors_;
  LatentSizes latent_;
  std::vector<std::byte> rows_;
  std::vector<std::byte> old_row_;
  std::vector<float> numbers_;  // of a row
  std::vector<float> head_;     // [plain][rank], of the head below
  const gguf::TensorInfo* decoded_ = nullptr;
  std::int64_t decoded_head_ = -1;
};

}  // namespace

Result<RenewedGguf> renew_gguf(const gguf::File& file) {
  Renewal renewal(file);
  SHUNT_ASSIGN(std::vector<RenewedTensor> tensors, renewal.tensors());
  if (!renewal.has_stacks() && !renewal.latent()) {
    return invalid(
        "{} has today's form, so there is nothing to convert; `shunt quantize` changes the types "
        "of its weights",
        file.path());
  }
  std::vector<gguf::TensorInfo> infos;
  infos.reserve(tensors.size());
  for (const RenewedTensor& tensor : tensors) infos.push_back(tensor.info);
  SHUNT_ASSIGN(gguf::File renewed,
               gguf::without_data(file.path(), renewed_keys(file, renewal.latent()), infos));
  std::vector<std::string> notes;
  if (renewal.has_stacks()) notes.emplace_back("the experts of each layer become one tensor");
  if (renewal.latent()) notes.emplace_back("attn_kv_b of each layer becomes attn_k_b and attn_v_b");
  const auto rows = std::make_shared<RenewedRows>(file, std::move(tensors),
                                                  renewal.latent().value_or(LatentSizes()));
  const gguf::TensorInfo* const first_info = renewed.tensors().data();
  const auto read = [rows, first_info](const gguf::TensorInfo& info, std::int64_t first,
                                       std::int64_t count) {
    return rows->read(static_cast<std::size_t>(&info - first_info), first, count);
  };
  return RenewedGguf{std::move(renewed), read, std::move(notes)};
}

}  // namespace shunt
