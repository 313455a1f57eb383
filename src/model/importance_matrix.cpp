#include "shunt/importance_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "base/guarded.h"
#include "base/plain_nan.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::string_view kType = "imatrix";
constexpr std::string_view kSquares = ".in_sum2";
constexpr std::string_view kCounts = ".counts";
constexpr const char* kDatasets = "imatrix.datasets";
constexpr const char* kChunkCount = "imatrix.chunk_count";
constexpr const char* kChunkSize = "imatrix.chunk_size";

class ImportanceReader {
 public:
  explicit ImportanceReader(const gguf::File& file) : file_(file) {}

  Result<ImportanceMatrix> read() {
    SHUNT_ASSIGN(const std::string type, file_.get_string_or("general.type", ""));
    if (type != kType) {
      return fail(ErrorCode::kBadFile,
                  "{}: this is not an importance matrix: general.type is '{}', not '{}'",
                  file_.path(), type, kType);
    }
    SHUNT_TRY(read_metadata());
    for (const gguf::TensorInfo& info : file_.tensors()) {
      if (info.name.ends_with(kSquares)) SHUNT_TRY(read_sums(info));
    }
    if (matrix_.tensors.empty()) {
      return fail(ErrorCode::kBadFile, "{}: it has no tensor whose name ends in {}", file_.path(),
                  kSquares);
    }
    return std::move(matrix_);
  }

 private:
  Status read_metadata() {
    if (file_.find(kDatasets) != nullptr) {
      SHUNT_ASSIGN(const auto datasets, file_.get_array(kDatasets, gguf::ValueType::kString));
      matrix_.datasets = datasets->strings;
    }
    const auto number = [&](const char* key, std::uint32_t& value) -> Status {
      SHUNT_ASSIGN(const std::int64_t found, file_.get_integer_or(key, 0));
      if (found < 0 || found > std::numeric_limits<std::uint32_t>::max()) {
        return fail(ErrorCode::kBadFile, "{}: {} is {}", file_.path(), key, found);
      }
      value = static_cast<std::uint32_t>(found);
      return ok();
    };
    SHUNT_TRY(number(kChunkCount, matrix_.chunk_count));
    return number(kChunkSize, matrix_.chunk_size);
  }

  Error bad(const std::string& tensor, const std::string& what) const {
    return fail(ErrorCode::kBadFile, "{}: tensor {} {}", file_.path(), tensor, what);
  }

  /// Numbers that are finite and not negative.
  Result<std::vector<double>> values_of(const gguf::TensorInfo& info) const {
    if (info.tensor.dtype != DType::kF32) {
      return bad(info.name, fmt::format("is {}; it should be F32", to_string(info.tensor)));
    }
    std::vector<float> floats(static_cast<std::size_t>(element_count(info.tensor.shape)));
    if (!floats.empty()) std::memcpy(floats.data(), file_.data(info).data(), info.bytes);
    convert_byte_order(DType::kF32, info.order, std::as_writable_bytes(std::span(floats)));
    for (std::size_t i = 0; i < floats.size(); ++i) {
      if (std::isfinite(floats[i]) && floats[i] >= 0) continue;
      return bad(info.name, fmt::format("has {} at {}; numbers must be finite and not negative",
                                        plain_nan(floats[i]), i));
    }
    return std::vector<double>(floats.begin(), floats.end());
  }

  Status read_sums(const gguf::TensorInfo& info) {
    const std::string name = info.name.substr(0, info.name.size() - kSquares.size());
    const gguf::TensorInfo* counts = file_.find_tensor(name + std::string(kCounts));
    if (counts == nullptr) return bad(name + std::string(kCounts), "is missing");
    ColumnSums sums;
    sums.columns = info.tensor.size(0);
    SHUNT_ASSIGN(sums.squares, values_of(info));
    SHUNT_ASSIGN(sums.counts, values_of(*counts));
    if (sums.columns * sums.matrices() != static_cast<std::int64_t>(sums.squares.size())) {
      return bad(counts->name,
                 fmt::format("has {}; {} is {}",
                             counted(static_cast<std::uint64_t>(sums.matrices()), "count"),
                             info.name, to_string(info.tensor)));
    }
    matrix_.tensors.emplace(name, std::move(sums));
    return ok();
  }

  const gguf::File& file_;
  ImportanceMatrix matrix_;
};

/// Only values that read_importance() accepts.
Result<std::vector<float>> to_f32(const std::vector<double>& values) {
  constexpr double kMost = std::numeric_limits<float>::max();
  std::vector<float> floats;
  for (double value : values) {
    if (!(value >= 0 && value <= kMost)) {
      return invalid("{:.6g} at {}; numbers must be from 0 to {:.6g}", plain_nan(value),
                     floats.size(), kMost);
    }
    floats.push_back(static_cast<float>(value));
  }
  convert_byte_order(DType::kF32, std::endian::little, std::as_writable_bytes(std::span(floats)));
  return floats;
}

}  // namespace

std::vector<float> ImportanceMatrix::weights(const ColumnSums& sums, std::int64_t matrix) {
  constexpr double kLeast = 1e-4;  // of the mean
  const auto columns = static_cast<std::size_t>(sums.columns);
  const auto squares =
      std::span(sums.squares).subspan(static_cast<std::size_t>(matrix) * columns, columns);
  double mean = 0;
  for (double square : squares) mean += square / static_cast<double>(columns);
  std::vector<float> weights;
  if (!(mean > 0)) return weights;
  for (double square : squares) {
    weights.push_back(static_cast<float>(std::max(square / mean, kLeast)));
  }
  return weights;
}

Result<ImportanceMatrix> read_importance(const std::string& path) {
  return guarded(
      [&]() -> Result<ImportanceMatrix> {
        SHUNT_ASSIGN(const gguf::File file, gguf::File::open(path));
        return ImportanceReader(file).read();
      },
      path);
}

Status write_importance(const std::string& path, const ImportanceMatrix& matrix) {
  const auto write = [&]() -> Status {
    gguf::Writer writer;
    writer.add_string("general.type", std::string(kType));
    gguf::Array datasets{
        .type = gguf::ValueType::kString, .strings = matrix.datasets, .floats = {}, .integers = {}};
    writer.add_array(kDatasets, std::move(datasets));
    writer.add_u32(kChunkCount, matrix.chunk_count);
    writer.add_u32(kChunkSize, matrix.chunk_size);
    std::vector<std::vector<float>> values;
    const auto add = [&](const std::string& name, const Tensor& tensor,
                         const std::vector<double>& of) -> Status {
      auto floats = to_f32(of);
      if (!floats) return std::move(floats.error()).with_context(path + ": tensor " + name);
      values.push_back(std::move(*floats));
      return writer.add_tensor(name, tensor);
    };
    for (const auto& [name, sums] : matrix.tensors) {
      const std::int64_t matrices = sums.matrices();
      SHUNT_ASSIGN(const Tensor squares, make_tensor(DType::kF32, {sums.columns, matrices}));
      SHUNT_ASSIGN(const Tensor counts, make_tensor(DType::kF32, {1, matrices}));
      SHUNT_TRY(add(name + std::string(kSquares), squares, sums.squares));
      SHUNT_TRY(add(name + std::string(kCounts), counts, sums.counts));
    }
    return writer.write(path, [&](std::size_t index) -> Result<std::span<const std::byte>> {
      return std::as_bytes(std::span(values[index]));
    });
  };
  return guarded(write, path);
}

}  // namespace shunt
