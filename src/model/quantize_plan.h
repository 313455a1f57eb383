// Which type each tensor of a GGUF file gets.
#pragma once

#include <string>
#include <vector>

#include "model/importance_matrix.h"
#include "model/quantize_types.h"
#include "shunt/error.h"
#include "shunt/gguf.h"

namespace shunt {

struct QuantizeOptions {
  const Mixture* mixture = nullptr;  ///< must be given
  bool pure = false;                 ///< the mixture's base type for every matrix
  /// Regular expressions for whole names of tensors that stay as they are.
  std::vector<std::string> keep = {};
  const ImportanceMatrix* importance = nullptr;  ///< may be null
  std::string importance_file = {};              ///< its name, for messages and metadata
  int threads = 0;                               ///< 0: one a physical core
};

/// The plan for one tensor.
struct QuantizedTensor {
  const gguf::TensorInfo* from = nullptr;
  Tensor to;
  /// Null if all columns count alike.
  const ColumnSums* importance = nullptr;

  bool is_copied() const { return to.dtype == from->tensor.dtype; }
};

struct QuantizationPlan {
  std::vector<QuantizedTensor> tensors;  ///< in the order of the file
  std::vector<std::string> notes;        ///< for the user, a line each
};

/// Decides the type of every tensor of `file` by an architecture's table of weights. Norms, biases
/// and integers stay as they are. Of an architecture that is not known, every matrix gets the
/// mixture's base type if its rows are whole blocks. Invalid, naming the tensor, if a type needs an
/// importance matrix and there is none; BadFile if the one given is of other shapes. The plan
/// points into `file` and options.importance.
Result<QuantizationPlan> plan_quantization(const gguf::File& file, const QuantizeOptions& options);

}  // namespace shunt
