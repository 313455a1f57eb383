#include "ops/custom/custom.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "ops/common/checks.h"
#include "ops/custom/custom_node.h"

namespace shunt {

namespace {

constexpr std::int64_t kMostItems = 0x7fffffff;

/// The value that a user's function returns, or an error for anything that it throws.
template <class Function>
auto without_throwing(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& exception) {
    return invalid("it threw an exception: {}", exception.what());
  } catch (...) {
    return invalid("it threw an object that is not a std::exception");
  }
}

/// Calls f(T()) with the type of C++ that a type's elements have; false if they have none.
template <class F>
bool with_element_type(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:  // NOLINT(bugprone-branch-clone): each branch calls f with another type
      return f(float()), true;
    case DType::kF64:
      return f(double()), true;
    case DType::kI8:
      return f(std::int8_t()), true;
    case DType::kI16:
      return f(std::int16_t()), true;
    case DType::kI32:
      return f(std::int32_t()), true;
    case DType::kI64:
      return f(std::int64_t()), true;
    default:
      return false;
  }
}

/// A reference's values in memory, contiguous; empty if they can't be encoded.
std::vector<std::byte> to_memory(const RefTensor& values, DType dtype) {
  const DTypeTrait& type = trait(dtype);
  const std::size_t count = values.data.size();
  std::vector<std::byte> bytes(count / static_cast<std::size_t>(type.block_elements) *
                               type.block_bytes);
  const bool exact = with_element_type(dtype, [&](auto element) {
    for (std::size_t i = 0; i < count; ++i) {
      element = static_cast<decltype(element)>(values.data[i]);
      std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
    }
  });
  if (exact) return bytes;
  if (type.encode == nullptr) return {};
  const std::vector<float> floats(values.data.begin(), values.data.end());
  type.encode(floats.data(), bytes.data(), static_cast<std::int64_t>(count));
  return bytes;
}

void from_memory(const std::vector<std::byte>& bytes, DType dtype, RefTensor& values) {
  const std::size_t count = values.data.size();
  const bool exact = with_element_type(dtype, [&](auto element) {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&element, bytes.data() + i * sizeof element, sizeof element);
      values.data[i] = static_cast<double>(element);
    }
  });
  if (exact) return;
  std::vector<float> floats(count);
  trait(dtype).decode(bytes.data(), floats.data(), static_cast<std::int64_t>(count));
  std::ranges::copy(floats, values.data.begin());
}

Result<Tensor> contiguous_tensor(DType dtype, const Sizes& sizes) {
  return make_tensor(dtype, {sizes[0], sizes[1], sizes[2], sizes[3]});
}

/// The type and shape of the result.
Result<Tensor> find_result(const CustomParams& custom, std::span<const Tensor> sources) {
  if (const auto* tensor = std::get_if<Tensor>(&custom.result)) return *tensor;
  const auto& rule = std::get<CustomShapeRule>(custom.result);
  if (!rule) return invalid("it has no rule for the shape of its result");
  return without_throwing([&] { return rule(sources); });
}

/// Calls the function on contiguous memory, one item after the other.
Status run_plainly(RefSources sources, const CustomNode& node, RefTensor& result) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<Tensor> tensors;
  std::vector<CustomSource> seen;
  for (std::size_t i = 0; i < node.sources.size(); ++i) {
    const RefTensor& values = *sources[i];
    memory.push_back(to_memory(values, node.sources[i]));
    if (memory.back().empty() && !values.data.empty()) {
      return invalid("source {} can't be encoded", i);
    }
    SHUNT_ASSIGN(const Tensor tensor, contiguous_tensor(node.sources[i], values.sizes));
    tensors.push_back(tensor);
    seen.push_back({tensor.dtype, values.sizes, tensor.strides, memory.back().data()});
  }
  SHUNT_ASSIGN(const Tensor found, find_result(node.custom, tensors));
  SHUNT_ASSIGN(const Tensor tensor, contiguous_tensor(found.dtype, result.sizes));
  std::vector<std::byte> bytes(static_cast<std::size_t>(byte_span(tensor)));
  CustomCall call = {.sources = seen,
                     .result = {tensor.dtype, result.sizes, tensor.strides, bytes.data()},
                     .items = node.custom.items};
  for (call.item = 0; call.item < call.items; ++call.item) {
    SHUNT_TRY(call_custom(node.custom, call));
  }
  from_memory(bytes, tensor.dtype, result);
  return ok();
}

class Custom final : public OpWith<CustomNode> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "custom",
        .family = "custom",
        .summary =
            "A user's function, called `items` times in each run, with "
            "the sources, the result and the number of the call. Only the CPU runs it.",
        .sources = {"x0?", "x1?", "x2?", "x3?", "x4?", "x5?", "x6?", "x7?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const CustomNode& node) const override {
    const CustomParams& custom = node.custom;
    if (custom.name.empty()) return invalid("it has no name");
    if (!custom.function) return invalid("{} has no function", custom.name);
    if (custom.items < 1 || custom.items > kMostItems) {
      return invalid("{}: items is {}, but it must be from 1 to {}", custom.name, custom.items,
                     kMostItems);
    }
    std::vector<Tensor> tensors;
    tensors.reserve(node.sources.size());
    for (std::size_t i = 0; i < node.sources.size(); ++i) tensors.push_back(*sources[i]);
    auto found = find_result(custom, tensors);
    if (!found) return std::move(found.error()).with_context(custom.name);
    return contiguous(found->dtype, found->shape);
  }

  /// Not-a-number where the function fails, or where a source is of a type that nothing encodes.
  void plain_reference(RefSources sources, const CustomNode& node,
                       RefTensor& result) const override {
    if (run_plainly(sources, node, result)) return;
    std::ranges::fill(result.data, std::numeric_limits<double>::quiet_NaN());
  }
};

}  // namespace

Status call_custom(const CustomParams& custom, const CustomCall& call) {
  Status status = without_throwing([&] { return custom.function(call); });
  if (status) return status;
  const std::string where =
      call.items == 1 ? custom.name
                      : fmt::format("{}, item {} of {}", custom.name, call.item, call.items);
  return std::move(status.error()).with_context(where);
}

const Op& custom_op() {
  static const Custom kOp;
  return kOp;
}

Result<Value> custom(GraphBuilder& g, const std::vector<Result<Value>>& sources,
                     CustomParams params) {
  CustomNode node;
  std::vector<NodeId> ids;
  for (const Result<Value>& source : sources) {
    if (source && source->id == kNoNode) return invalid("custom: x{} is not given", ids.size());
    const Result<Tensor> tensor = g.find(source);
    // The error of an operand's own call comes out as it is.
    if (!tensor && source) return Error(tensor.error()).with_context("custom");
    if (!tensor) return Error(tensor.error());
    node.sources.push_back(tensor->dtype);
    ids.push_back(source->id);
  }
  const std::string name = params.name;
  node.custom = std::move(params);
  Result<Value> value = g.apply(custom_op(), Params::of(std::move(node)), ids);
  if (value) SHUNT_TRY(g.name(value, name));
  return value;
}

}  // namespace shunt
