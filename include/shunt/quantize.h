/// \file
/// Quantizing a model: a GGUF file is written again with weights of other types.
///
/// \code
/// SHUNT_ASSIGN(const gguf::File file, gguf::File::open("model-f16.gguf"));
/// const QuantizeOptions options = {.type = "Q4_K_M"};
/// SHUNT_ASSIGN(const QuantizationPlan plan, plan_quantization(file, options));
/// SHUNT_TRY(write_quantized("model-q4.gguf", file, plan, options));
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "shunt/gguf.h"
#include "shunt/gguf_parts.h"
#include "shunt/importance_matrix.h"

namespace shunt {

/// The names of all types that a model can be quantized to: types of weights, such as "Q8_0", and
/// mixtures of them, such as "Q4_K_M".
std::vector<std::string_view> quantization_names();
/// The name among these that equals `name`, case ignored; none if there is no such type.
std::optional<std::string_view> find_quantization(std::string_view name);

struct QuantizeOptions {
  std::string type = {};  ///< one of quantization_names(), case ignored; must be given
  bool pure = false;      ///< the base type of the mixture for every matrix
  /// Regular expressions for whole names of tensors that stay as they are.
  std::vector<std::string> keep = {};
  const ImportanceMatrix* importance = nullptr;  ///< may be null
  std::string importance_file = {};              ///< its name, for messages and metadata
  int threads = 0;                               ///< 0: one a physical core
  /// Write parts instead of one file: "NAME-00001-of-00003.gguf" for "NAME.gguf" (gguf_parts.h).
  std::optional<gguf::PartLimits> parts = {};
};

/// The plan for one tensor.
struct QuantizedTensor {
  const gguf::TensorInfo* from = nullptr;
  Tensor to;
  /// Null if all columns have equal importance.
  const ColumnSums* importance = nullptr;

  bool is_copied() const { return to.dtype == from->tensor.dtype; }
};

struct QuantizationPlan {
  std::string_view type;                 ///< of quantization_names()
  std::uint32_t file_type = 0;           ///< the value of general.file_type
  std::vector<QuantizedTensor> tensors;  ///< in the order of the file
  std::vector<std::string> notes;        ///< for the user, a line each
};

/// Decides the type of every tensor of `file` by an architecture's table of weights. Norms, biases
/// and integers stay as they are. Of an architecture that is not known, every matrix gets the
/// mixture's base type if its rows are whole blocks. Invalid for an unknown type; Invalid, naming
/// the tensor, if a type needs an importance matrix and there is none; BadFile if the one given is
/// of other shapes. The plan points into `file` and options.importance.
Result<QuantizationPlan> plan_quantization(const gguf::File& file, const QuantizeOptions& options);

/// All tensors of one type in the new file.
struct TypeSummary {
  DType dtype = DType::kF32;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  double error_squares = 0;  ///< sum over all that were converted: (new - old)^2
  double squares = 0;        ///< old^2

  /// Root mean square error relative to that of the values; 0 if nothing was converted.
  double error() const;
};

struct QuantizeResult {
  std::uint64_t bytes_before = 0;  ///< of tensors' data
  std::uint64_t bytes_after = 0;
  std::vector<TypeSummary> types;  ///< largest first
  std::vector<std::string> files;  ///< their paths, one or several parts
};

/// Called now and then with bytes of the new file done and in all. An error ends it.
using QuantizeProgress = std::function<Status(std::uint64_t done, std::uint64_t total)>;

/// Writes `file` to `path` as planned, by way of a temporary file. Metadata stay, but for those
/// about parts, types and importance. Rows are shared by threads; the bytes are the same for any
/// number of them. Takes memory for some rows, not for the model. Invalid if `path` is a part of
/// `file`, or, naming tensor and place, for a value that is not finite or too large for its type.
Result<QuantizeResult> write_quantized(const std::string& path, const gguf::File& file,
                                       const QuantizationPlan& plan, const QuantizeOptions& options,
                                       const QuantizeProgress& progress = {});

}  // namespace shunt
