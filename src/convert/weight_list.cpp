#include "convert/weight_list.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/to_size.h"
#include "convert/classifier_keys.h"
#include "convert/described_folder.h"
#include "convert/left_tensors.h"
#include "convert/scale_form.h"
#include "convert/source_view.h"
#include "model/weight_slots.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// The plain name of a tensor of a layer, for a row of tables.
std::string name_in_folder(const PublishedTensor& row, std::int64_t layer) {
  const bool in_layer = facts_of(row.slot).is_in != nullptr;
  return in_layer ? fmt::format("layers.{}.{}", layer, row.name) : std::string(row.name);
}

std::string with_number(std::string name, std::int64_t number) {
  const std::size_t at = name.find("{}");
  return at == std::string::npos ? name : name.replace(at, 2, std::to_string(number));
}

/// The type in the file that is made.
Result<DType> type_of(StoredType type, const SlotFacts& facts, const Sizes& sizes) {
  switch (type) {
    case StoredType::kMXFP4:
    case StoredType::kF16:
    case StoredType::kBF16:
    case StoredType::kF32:
    case StoredType::kF64:
    case StoredType::kF8E4M3:
    case StoredType::kF8E5M2:
      break;
    default:
      return fail(ErrorCode::kUnsupported, "elements of type {} can't be weights",
                  facts_of(type).name);
  }
  // Small ones, which are computed with in F32.
  const bool is_matrix = sizes[1] * sizes[2] * sizes[3] > 1;
  if (!is_matrix || facts.role == WeightRole::kOther) return DType::kF32;
  const bool small = type == StoredType::kF8E4M3 || type == StoredType::kF8E5M2;
  if (small) return DType::kBF16;
  return type == StoredType::kF64 ? DType::kF32 : *facts_of(type).dtype;
}

class Lister {
 public:
  Lister(const ConvertedFolder& folder, FileKeys& keys, const Description& description)
      : folder_(folder), keys_(keys), description_(description) {}

  Result<std::vector<WeightSource>> run() {
    SHUNT_TRY(check_made());
    for (const WeightRow& row : description_.weights) {
      if (facts_of(row.slot).is_in == nullptr) SHUNT_TRY(add(row, 0));
    }
    for (std::int64_t layer = 0; layer < std::ssize(description_.layers); ++layer) {
      for (const WeightRow& row : description_.weights) {
        const SlotFacts& facts = facts_of(row.slot);
        if (facts.is_in != nullptr && facts.is_in(description_.layers[to_size(layer)]))
          SHUNT_TRY(add(row, layer));
      }
    }
    SHUNT_TRY(check_left_tensors(folder_, used_, std::ssize(description_.layers), keys_.notes));
    return std::move(weights_);
  }

 private:
  const std::string& path() const { return folder_.config.path(); }

  /// That the model has the weights that are made of numbers.
  Status check_made() const {
    for (const auto& [slot, numbers] : keys_.made) {
      if (std::ranges::count(description_.weights, slot, &WeightRow::slot) > 0) continue;
      return fail(ErrorCode::kUnsupported,
                  "{}: scaling of rope needs {}, which a file of architecture {} can't have",
                  path(), facts_of(slot).name, folder_.model.architecture);
    }
    return ok();
  }

  Status add(const WeightRow& row, std::int64_t number) {
    const SlotFacts& facts = facts_of(row.slot);
    const Layer& layer = description_.layers[to_size(number)];
    WeightSource source;
    source.info.name = name_of(row, number);
    if (const auto made = keys_.made.find(row.slot); made != keys_.made.end())
      return add_made(std::move(source), made->second);
    if (row.slot == WeightSlot::kOutput) {
      SHUNT_ASSIGN(const bool wanted, has_output());
      if (!wanted) return ok();
    }
    const auto names = published_tensors(folder_.model, row.slot);
    for (const PublishedTensor& from : names) {
      SHUNT_ASSIGN(const bool found, find(from, number, source));
      if (found) return add_found(std::move(source), from, layer, facts);
    }
    const bool tied = row.slot == WeightSlot::kOutput;
    if ((row.need == Need::kOptional && !tied) || names.empty()) return ok();
    if (names[0].not_in_first && number == 0) return ok();
    return fail(ErrorCode::kBadFile, "{}: tensor {} is missing", path(),
                with_number(name_in_folder(names[0], number), 0));
  }

  /// Without a matrix of its own, the embedding makes the logits. A classifier has none.
  Result<bool> has_output() const {
    if (description_.head && folder_.tensors.find("lm_head.weight") == nullptr) return false;
    SHUNT_ASSIGN(const bool tied,
                 folder_.config.flag("tie_word_embeddings",
                                     folder_.tensors.find("lm_head.weight") == nullptr));
    return !tied;
  }

  Status add_made(WeightSource source, const std::vector<float>& numbers) {
    const auto size = std::ssize(numbers);
    SHUNT_ASSIGN(source.info.tensor, make_tensor(DType::kF32, {size}));
    source.info.bytes = static_cast<std::uint64_t>(byte_span(source.info.tensor));
    source.view.columns = size;
    source.numbers = numbers;
    weights_.push_back(std::move(source));
    return ok();
  }

  /// Whether the folder has the tensors of a row.
  Result<bool> find(const PublishedTensor& from, std::int64_t number, WeightSource& source) {
    const std::string name = name_in_folder(from, number);
    const bool is_stack = name.find("{}") != std::string::npos;
    const std::int64_t count = is_stack ? description_.layers[to_size(number)].experts->count : 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string plain = with_number(name, i);
      const NamedTensor* const found = folder_.tensors.find(plain);
      if (found == nullptr && i == 0) return false;
      if (found == nullptr) {
        return fail(ErrorCode::kBadFile, "{}: tensor {} is missing, one of {} experts", path(),
                    plain, count);
      }
      source.matrices.push_back({found->tensor, find_scale(plain)});
    }
    return true;
  }

  const StoredTensor* find_scale(const std::string& name) const {
    constexpr std::string_view kBlocks = "_blocks";
    const auto tensor = [&](const std::string& of) -> const StoredTensor* {
      const NamedTensor* const found = folder_.tensors.find(of);
      return found == nullptr ? nullptr : found->tensor;
    };
    if (name.ends_with(kBlocks))
      return tensor(name.substr(0, name.size() - kBlocks.size()) + "_scales");
    const StoredTensor* const inverse = tensor(name + "_scale_inv");
    return inverse != nullptr ? inverse : tensor(name + "_scale");
  }

  Error bad(const WeightSource& source, const std::string& what) const {
    const StoredTensor& tensor = *source.matrices[0].tensor;
    return fail(ErrorCode::kBadFile, "{}: tensor {} is {}; {}", path(),
                gguf::printable(tensor.name), to_string(tensor), what);
  }

  Status add_found(WeightSource source, const PublishedTensor& from, const Layer& layer,
                   const SlotFacts& facts) {
    const Sizes sizes = facts.sizes(description_, layer);
    source.type = source.matrices[0].tensor->type;
    source.element = from.element;
    const bool is_stack = from.name.find("{}") != std::string_view::npos;
    for (SourceMatrix& matrix : source.matrices) {
      StoredTensor seen = *matrix.tensor;
      if (from.name.ends_with("_blocks")) SHUNT_TRY(see_blocks(source, matrix, seen));
      const auto view = view_of(seen, from, layer, sizes, is_stack);
      if (!view || matrix.tensor->type != source.matrices[0].tensor->type) {
        return bad_matrix(source, matrix,
                          fmt::format("by config.json, {} of [{}] is made of it", source.info.name,
                                      fmt::join(sizes, ", ")));
      }
      source.view = *view;
      used_.insert(matrix.tensor);
      if (matrix.scale != nullptr) used_.insert(matrix.scale);
    }
    auto type = type_of(source.type, facts, sizes);
    if (!type) return bad(source, type.error().message());
    SHUNT_TRY(check_scales(source));
    Shape shape;
    for (std::size_t i = 0; i < kMaxDims; ++i) shape[i] = sizes[i];
    SHUNT_ASSIGN(source.info.tensor, make_tensor(*type, shape));
    source.info.bytes = static_cast<std::uint64_t>(byte_span(source.info.tensor));
    weights_.push_back(std::move(source));
    return ok();
  }

  /// A pair of tensors [..., blocks, 16] and [..., blocks] is one of MXFP4.
  Status see_blocks(WeightSource& source, const SourceMatrix& matrix, StoredTensor& seen) const {
    constexpr std::int64_t kBytes = 16;
    constexpr std::int64_t kElements = 32;
    std::vector<std::int64_t> shape = matrix.tensor->shape;
    const bool bytes =
        matrix.tensor->type == StoredType::kU8 && shape.size() > 1 && shape.back() == kBytes;
    if (bytes) shape.pop_back();
    const StoredTensor* const scale = matrix.scale;
    const bool scaled = scale != nullptr && scale->shape == shape &&
                        (scale->type == StoredType::kU8 || scale->type == StoredType::kF8E8M0);
    if (!bytes || !scaled) {
      return bad(source, fmt::format("expected blocks of 16 U8, with as many U8 in {}",
                                     scale == nullptr ? "_scales" : to_string(*scale)));
    }
    shape.back() *= kElements;
    seen.shape = std::move(shape);
    source.type = StoredType::kMXFP4;
    return ok();
  }

  Error bad_matrix(WeightSource source, const SourceMatrix& matrix, const std::string& what) const {
    source.matrices = {matrix};
    return bad(source, what);
  }

  /// Scales of numbers of 8 bits, which all matrices have in one form, or none.
  Status check_scales(WeightSource& source) const {
    const bool small = source.type == StoredType::kF8E4M3 || source.type == StoredType::kF8E5M2;
    if (!small) return check_no_scales(source);
    if (source.view.transposed)
      return bad(source, "8-bit floats with outputs in columns can't be read");
    SHUNT_ASSIGN(const std::vector<std::int64_t> block, scale_block());
    const bool scaled = source.matrices[0].scale != nullptr;
    for (const SourceMatrix& matrix : source.matrices) {
      if ((matrix.scale != nullptr) != scaled)
        return bad_matrix(source, matrix, without_other_scale(matrix));
      if (!scaled) continue;
      SHUNT_ASSIGN(const ScaleForm form, form_of_scales(source, matrix, block));
      if (&matrix == source.matrices.data()) source.scales = form;
      if (form == source.scales) continue;
      return bad_matrix(source, matrix,
                        fmt::format("its scales {} are {}, but those of {} are {}",
                                    gguf::printable(matrix.scale->name), to_string(*matrix.scale),
                                    gguf::printable(source.matrices[0].tensor->name),
                                    to_string(*source.matrices[0].scale)));
    }
    constexpr const char* kQuantized = "quantization_config";
    if (scaled || !folder_.config.has(kQuantized)) return ok();
    return bad(source, fmt::format("by {}, scales are expected beside it, in {}_scale_inv or "
                                   "{}_scale",
                                   kQuantized, source.matrices[0].tensor->name,
                                   source.matrices[0].tensor->name));
  }

  static std::string without_other_scale(const SourceMatrix& matrix) {
    return fmt::format("it has {}scales, unlike other matrices of its stack",
                       matrix.scale == nullptr ? "no " : "");
  }

  Status check_no_scales(const WeightSource& source) const {
    if (source.type == StoredType::kMXFP4) return ok();  // see_blocks()
    for (const SourceMatrix& matrix : source.matrices) {
      if (matrix.scale == nullptr) continue;
      return bad_matrix(source, matrix,
                        fmt::format("scales such as {} are expected beside 8-bit floats only",
                                    gguf::printable(matrix.scale->name)));
    }
    return ok();
  }

  Result<ScaleForm> form_of_scales(const WeightSource& source, const SourceMatrix& matrix,
                                   const std::vector<std::int64_t>& block) const {
    const StoredTensor& scale = *matrix.scale;
    const std::int64_t matrices = source.matrices.size() == 1 ? source.view.count : 1;
    const ScaledMatrices scaled = {.matrices = matrices,
                                   .rows = source.view.published_rows,
                                   .columns = source.view.published_columns,
                                   .stacked = matrices > 1 || matrix.tensor->shape.size() > 2};
    const auto form = scale_form(scale.type, scale.shape, scaled, block);
    if (form) return *form;
    return bad_matrix(
        source, matrix,
        fmt::format("its scales {} are {}; expected one, one a row, or one for {} "
                    "rows and columns",
                    gguf::printable(scale.name), to_string(scale), fmt::join(block, " by ")));
  }

  Result<std::vector<std::int64_t>> scale_block() const {
    constexpr const char* kName = "quantization_config.weight_block_size";
    std::vector<std::int64_t> sizes = {128, 128};  // of the published models
    if (!folder_.config.has(kName)) return sizes;
    SHUNT_ASSIGN(const std::vector<float> stated, folder_.config.numbers(kName, 2));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!(stated[i] >= 1 && stated[i] <= 1 << 20))
        return folder_.config.wrong(kName, "two numbers from 1 to 1048576");
      sizes[i] = static_cast<std::int64_t>(stated[i]);
    }
    return sizes;
  }

  const ConvertedFolder& folder_;
  FileKeys& keys_;
  const Description& description_;
  std::vector<WeightSource> weights_;
  std::set<const StoredTensor*> used_;
};

}  // namespace

Result<std::vector<WeightSource>> list_weights(const ConvertedFolder& folder, FileKeys& keys) {
  // Every layer has tensors.
  const std::size_t tensors = folder.tensors.tensors().size();
  const std::int64_t layers = keys.count_of("block_count");
  if (layers < 1 || to_size(layers) > tensors) {
    return fail(ErrorCode::kBadFile, "{}: {} layers, but the folder has {}", folder.config.path(),
                layers, counted(tensors, "tensor"));
  }
  SHUNT_ASSIGN(Description description, describe_folder(folder, keys));
  SHUNT_TRY(add_classifier(folder, description, keys));
  return Lister(folder, keys, description).run();
}

}  // namespace shunt
