#include <optional>
#include <string>
#include <vector>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/view/view.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

/// The invariants of a reshape: each dynamic dimension, with the elements that one unit of it
/// covers, and the number of elements with every dynamic dimension at 1.
struct Elements {
  struct Unit {
    DynamicDimId dynamic_dim;
    std::int64_t elements;
    friend bool operator==(const Unit&, const Unit&) = default;
  };
  std::vector<Unit> units;
  std::int64_t count = 1;
  friend bool operator==(const Elements&, const Elements&) = default;
};

Elements elements_of(const Shape& shape) {
  Elements elements;
  for (const Dim& dim : shape) {
    elements.count = saturating_multiply(elements.count, dim.is_fixed() ? dim.max : dim.factor);
    if (!dim.is_fixed()) elements.units.push_back({dim.dynamic_dim, elements.count});
  }
  return elements;
}

/// The strides of `result`, which is contiguous and has as many elements as x, as a view of x;
/// nothing if x's strides allow none. Dimensions of both are taken together, from the inside, until
/// they have as many elements. The strides of x in such a group must be those of one dimension.
std::optional<std::array<std::int64_t, kMaxDims>> strides_through(const Tensor& x,
                                                                  const Tensor& result) {
  auto strides = result.strides;
  if (is_contiguous(x) || element_count(x.shape) == 0) return strides;
  // In blocks, of which plain types have one an element.
  const auto sizes_in_blocks = [](const Tensor& tensor) {
    Sizes sizes = max_sizes(tensor.shape);
    sizes[0] /= trait(tensor.dtype).block_elements;
    return sizes;
  };
  const Sizes sizes = sizes_in_blocks(result);
  Sizes old_sizes = {};
  Sizes old_strides = {};
  std::size_t old_dims = 0;
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    old_sizes[old_dims] = sizes_in_blocks(x)[i];
    old_strides[old_dims] = x.strides[i];
    if (old_sizes[old_dims] != 1) ++old_dims;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < old_dims; ++i) {
    std::int64_t stride = old_strides[i];
    std::int64_t old_count = old_sizes[i];
    std::int64_t new_count = 1;
    while (new_count < old_count || (next < kMaxDims && sizes[next] == 1)) {
      strides[next] = stride;
      stride *= sizes[next];
      new_count *= sizes[next++];
      while (old_count < new_count) {
        if (old_strides[i + 1] != old_strides[i] * old_sizes[i]) return std::nullopt;
        old_count *= old_sizes[++i];
      }
    }
  }
  // Rows of blocks are contiguous; the stride of a single block does not matter.
  if (sizes[0] == 1) strides[0] = result.strides[0];
  const bool rows_of_blocks = trait(x.dtype).block_elements > 1;
  if (rows_of_blocks && strides[0] != result.strides[0]) return std::nullopt;
  return strides;
}

class Reshape final : public Differentiable<ReshapeParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "reshape",
        .family = "view",
        .summary =
            "The elements of x in the same order in another shape, where x's strides allow it.",
        .sources = {"x"},
        .storage = Storage::kView};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const ReshapeParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_ASSIGN(Tensor result, make_tensor(x.dtype, params.shape));
    const Elements old_elements = elements_of(x.shape);
    const Elements new_elements = elements_of(params.shape);
    if (element_count(x.shape) != element_count(params.shape)) {
      return invalid("{} has {} elements, but {} has {}", to_string(params.shape),
                     element_count(params.shape), to_string(x), element_count(x.shape));
    }
    if (old_elements != new_elements) {
      return invalid("{} divides the dynamic dimensions of {} differently", to_string(params.shape),
                     to_string(x));
    }
    const auto strides = strides_through(x, result);
    if (!strides) {
      return invalid("x is not contiguous, so it can't be viewed as {} (cont makes a copy)",
                     to_string(params.shape));
    }
    result.strides = *strides;
    return Inferred{result};
  }

  void plain_reference(RefSources sources, const ReshapeParams&, RefTensor& result) const override {
    result.data = sources[0]->data;
  }

  Status gradient_rule(Backward& node, const ReshapeParams&) const override {
    return node.add_gradient(0, reshape(node.g, packed(node.g, node.dy()), node.shape(0)));
  }
};

}  // namespace

const Op& reshape_op() {
  static const Reshape kOp;
  return kOp;
}

Result<Value> reshape(GraphBuilder& g, Operand x, const Shape& shape) {
  return g.apply(reshape_op(), Params::of(ReshapeParams{shape}), {&x});
}

}  // namespace shunt
