// A weight of the file that is made, and the published tensors that it is made of.
#pragma once

#include <string>
#include <vector>

#include "convert/scale_form.h"
#include "convert/tensor_folder.h"
#include "model/published.h"
#include "shunt/gguf.h"

namespace shunt {

/// A published matrix, or several one after another.
struct SourceMatrix {
  const StoredTensor* tensor = nullptr;  ///< of MXFP4: its numbers
  const StoredTensor* scale = nullptr;   ///< of elements of 8 and 4 bits; null: none
};

/// A published tensor as rows of a matrix, as many as `count` matrices of it.
struct SourceView {
  std::int64_t count = 1;           ///< matrices, of the weight
  std::int64_t rows = 1;            ///< of a matrix of the weight
  std::int64_t columns = 1;         ///< of a matrix of the weight
  std::int64_t published_rows = 1;  ///< as they are stored, transposed or not
  std::int64_t published_columns = 1;
  bool transposed = false;
  std::vector<std::int64_t> row_order;     ///< row_order()
  std::vector<std::int64_t> column_order;  ///< column_order()

  /// Whether the weight has the published elements in their order.
  bool is_plain() const { return !transposed && row_order.empty() && column_order.empty(); }
};

struct WeightSource {
  gguf::TensorInfo info;  ///< name, type and shape
  StoredType type = StoredType::kF32;
  Element element = Element::kSame;
  std::vector<SourceMatrix> matrices;  ///< one, or one for each of SourceView::count
  SourceView view;
  ScaleForm scales;            ///< of those that SourceMatrix has
  std::vector<float> numbers;  ///< of a weight that is not published
};

}  // namespace shunt
