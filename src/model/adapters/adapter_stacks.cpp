#include "model/adapters/adapter_stacks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/to_size.h"
#include "model/weight_slots.h"
#include "shunt/message.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

constexpr std::size_t kAlignment = 64;

/// Larger numbers are refused. So products of A with activations below about 1e19 stay finite, and
/// nothing of an adapter reaches the tokens that scale it by 0.
constexpr float kLargest = 1e15F;

Error of_tensor(const AdapterFile& adapter, const gguf::TensorInfo& info, std::string_view what) {
  return Error(ErrorCode::kBadFile,
               fmt::format("{}: tensor {} {}", adapter.info.path, info.name, what));
}

/// Calls visit(row, numbers) for each row of a file's tensor, counted through all dimensions.
template <class Visit>
Status each_row(const gguf::File& file, const gguf::TensorInfo& info, const Visit& visit) {
  const DTypeTrait& type = trait(info.tensor.dtype);
  const std::int64_t size = info.tensor.size(0);
  const std::int64_t rows = element_count(info.tensor.shape) / size;
  const std::size_t row_bytes = to_size(size / type.block_elements) * type.block_bytes;
  const std::span<const std::byte> data = file.data(info);
  std::vector<std::byte> bytes(row_bytes);
  std::vector<float> numbers(to_size(size));
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(bytes.data(), data.data() + to_size(row) * row_bytes, row_bytes);
    convert_byte_order(info.tensor.dtype, info.order, bytes);
    type.decode(bytes.data(), numbers.data(), size);
    SHUNT_TRY(visit(row, std::span<const float>(numbers)));
  }
  return ok();
}

bool is_exact_in_f16(float number) {
  const DTypeTrait& half = trait(DType::kF16);
  std::byte bytes[2];
  float back = 0;
  half.encode(&number, bytes, 1);
  half.decode(bytes, &back, 1);
  return back == number;
}

}  // namespace

/// Checks the pairs of all files, plans the stacks, and fills them.
class StackMaker {
 public:
  StackMaker(std::span<const AdapterFile> files, const FindAdapted& find, std::uint32_t part,
             AdapterStacks& made)
      : files_(files), find_(find), part_(part), made_(made) {}

  Status make() {
    made_.adapters_ = files_.size();
    for (const AdapterFile& adapter : files_)
      made_.rank_ = std::max(made_.rank_, adapter.info.rank);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      for (const AdapterPair& pair : files_[i].pairs) SHUNT_TRY(add(i, pair));
    }
    for (auto& [name, weight] : weights_) SHUNT_TRY(plan(name, weight));
    made_.memory_ = allocate_aligned(std::max<std::size_t>(made_.size_, 1), kAlignment);
    if (made_.memory_ == nullptr) {
      return fail(ErrorCode::kOutOfMemory, "{}: no memory for {} bytes of adapters",
                  name_of_all(files_), made_.size_);
    }
    std::memset(made_.memory_.get(), 0, made_.size_);
    for (const auto& [name, weight] : weights_) SHUNT_TRY(fill(weight));
    return ok();
  }

 private:
  struct Source {
    std::size_t adapter = 0;
    const AdapterPair* pair = nullptr;
  };
  struct Weight {
    AdaptedWeight target;
    std::vector<Source> sources = {};
    const gguf::TensorInfo* a = nullptr;
    const gguf::TensorInfo* b = nullptr;
    /// A product of one matrix.
    bool by_adapter() const {
      const bool is_stacked = facts_of(target.slot).leaf == Role::kExpertWeight;
      return !target.is_embedding && !is_stacked && target.sizes[2] * target.sizes[3] == 1;
    }
    /// Of an embedding that makes the logits: [outputs, ranks].
    const gguf::TensorInfo* b_turned = nullptr;
  };

  static Status check_shape(const AdapterFile& adapter, const gguf::TensorInfo& info,
                            const Sizes& wanted, const std::string& weight) {
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      if (info.tensor.size(static_cast<int>(i)) == wanted[i]) continue;
      const auto last = std::find_if(wanted.rbegin(), wanted.rend() - 1,
                                     [](std::int64_t size) { return size != 1; });
      const std::span sizes(wanted.data(), to_size(wanted.rend() - last));
      return of_tensor(adapter, info,
                       fmt::format("is {}; for {} of this model it should be [{}]",
                                   to_string(info.tensor), weight, fmt::join(sizes, ", ")));
    }
    return ok();
  }

  /// Checks a pair against the model.
  Status add(std::size_t number, const AdapterPair& pair) {
    const AdapterFile& adapter = files_[number];
    auto target = find_(pair.weight);
    if (!target) return of_tensor(adapter, *pair.a, target.error().message());
    const auto& [inputs, outputs, matrices, rest] = target->sizes;
    const std::int64_t rank = pair.rank();
    if (target->is_embedding) {
      SHUNT_TRY(check_shape(adapter, *pair.b, {rank, inputs, 1, 1}, pair.weight));
      SHUNT_TRY(check_shape(adapter, *pair.a, {rank, outputs, 1, 1}, pair.weight));
    } else {
      SHUNT_TRY(check_shape(adapter, *pair.b, {rank, outputs, matrices, rest}, pair.weight));
      SHUNT_TRY(check_shape(adapter, *pair.a, {inputs, rank, matrices, rest}, pair.weight));
    }
    Weight& weight = weights_[pair.weight];
    weight.target = *target;
    weight.sources.push_back({number, &pair});
    return ok();
  }

  /// F16 if it holds all numbers exactly, else F32.
  Result<DType> type_for(const Weight& weight, bool of_b) const {
    bool exact = true;
    for (const auto& [number, pair] : weight.sources) {
      const AdapterFile& adapter = files_[number];
      const gguf::TensorInfo& info = of_b ? *pair->b : *pair->a;
      const float factor = of_b ? adapter.factor(*pair) : 1;
      SHUNT_TRY(
          each_row(adapter.file, info, [&](std::int64_t, std::span<const float> row) -> Status {
            for (const float number_in_file : row) {
              const float value = number_in_file * factor;
              if (!(std::fabs(value) <= kLargest)) {
                return of_tensor(
                    adapter, info,
                    fmt::format("has the number {:g}{}; it must be at most {:g}", number_in_file,
                                factor == 1 ? "" : fmt::format(" times {}", factor), kLargest));
              }
              exact = exact && is_exact_in_f16(value);
            }
            return ok();
          }));
    }
    return exact ? DType::kF16 : DType::kF32;
  }

  /// A matrix of all adapters.
  Result<const gguf::TensorInfo*> reserve(std::string name, DType dtype, const Shape& shape) {
    auto made = place(std::move(name), dtype, shape);
    if (!made) return std::move(made.error()).with_context(name_of_all(files_));
    return made;
  }

  Result<const gguf::TensorInfo*> place(std::string name, DType dtype, const Shape& shape) {
    gguf::TensorInfo info;
    info.name = std::move(name);
    SHUNT_ASSIGN(info.tensor, make_tensor(dtype, shape));
    const std::int64_t bytes = byte_span(info.tensor);
    const std::int64_t end = saturating_add(static_cast<std::int64_t>(made_.size_), bytes);
    if (end > kMaxSize - std::int64_t{kAlignment})
      return fail(ErrorCode::kOutOfMemory, "no memory for the matrices of {}", info.name);
    info.bytes = static_cast<std::uint64_t>(bytes);
    info.offset = made_.size_;
    info.part = part_;
    info.order = order_in_memory(dtype);
    made_.size_ = (to_size(end) + kAlignment - 1) / kAlignment * kAlignment;
    return &made_.infos_.emplace_back(std::move(info));
  }

  Status plan(const std::string& name, Weight& weight) {
    const auto& [inputs, outputs, matrices, rest] = weight.target.sizes;
    SHUNT_ASSIGN(const DType of_a, type_for(weight, false));
    SHUNT_ASSIGN(const DType of_b, type_for(weight, true));
    const std::int64_t ranks = made_.ranks();
    Shape a = {inputs, ranks, matrices, rest};
    Shape b = {ranks, outputs, matrices, rest};
    if (weight.by_adapter()) {
      const auto adapters = static_cast<std::int64_t>(made_.adapters());
      a = {inputs, made_.rank(), adapters};
      b = {made_.rank(), outputs, adapters};
    } else if (weight.target.is_embedding) {
      a = {ranks, outputs};
      b = {ranks, inputs};
    }
    SHUNT_ASSIGN(weight.a, reserve(name + ".lora_a", of_a, a));
    SHUNT_ASSIGN(weight.b, reserve(name + ".lora_b", of_b, b));
    made_.stacks_[{weight.target.slot, weight.target.layer}].push_back(
        {weight.a, weight.b, name, weight.by_adapter()});
    if (!weight.by_adapter()) made_.any_side_by_side_ = true;
    if (!weight.target.is_output) return ok();
    SHUNT_ASSIGN(weight.b_turned, reserve(name + ".lora_b_turned", of_b, Shape{inputs, ranks}));
    made_.stacks_[{WeightSlot::kOutput, 0}].push_back({weight.b_turned, weight.a, name});
    return ok();
  }

  /// Writes numbers from element `at` of a matrix on.
  void put(const gguf::TensorInfo& info, std::int64_t at, std::span<const float> numbers) {
    const DTypeTrait& type = trait(info.tensor.dtype);
    type.encode(numbers.data(), made_.memory_.get() + info.offset + to_size(at) * type.block_bytes,
                std::ssize(numbers));
  }

  Status fill(const Weight& weight) {
    for (const auto& [number, pair] : weight.sources) {
      const AdapterFile& adapter = files_[number];
      const std::int64_t first = static_cast<std::int64_t>(number) * made_.rank();
      const std::int64_t ranks = made_.ranks();
      const std::int64_t rank = pair->rank();
      // A row of a file is one of the stack, or a part of one.
      const auto beside = [&](const gguf::TensorInfo& to, float factor) {
        return [&, factor](std::int64_t row, std::span<const float> numbers) {
          std::vector<float> scaled(numbers.begin(), numbers.end());
          for (float& x : scaled) x *= factor;
          put(to, row * ranks + first, scaled);
          return ok();
        };
      };
      // A row of B in the adapter's own slice.
      const auto in_slice = [&](std::int64_t row, std::span<const float> numbers) {
        std::vector<float> scaled(numbers.begin(), numbers.end());
        for (float& x : scaled) x *= adapter.factor(*pair);
        put(*weight.b, first * weight.target.sizes[1] + row * made_.rank(), scaled);
        return ok();
      };
      const auto below = [&](std::int64_t row, std::span<const float> numbers) {
        const std::int64_t place = row / rank * ranks + first + row % rank;
        put(*weight.a, place * std::ssize(numbers), numbers);
        return ok();
      };
      if (weight.target.is_embedding) {
        SHUNT_TRY(each_row(adapter.file, *pair->a, beside(*weight.a, 1)));
      } else {
        SHUNT_TRY(each_row(adapter.file, *pair->a, below));
      }
      if (weight.by_adapter()) {
        SHUNT_TRY(each_row(adapter.file, *pair->b, in_slice));
      } else {
        SHUNT_TRY(each_row(adapter.file, *pair->b, beside(*weight.b, adapter.factor(*pair))));
      }
      if (weight.b_turned != nullptr) SHUNT_TRY(fill_turned(weight, adapter, *pair, first));
    }
    return ok();
  }

  Status fill_turned(const Weight& weight, const AdapterFile& adapter, const AdapterPair& pair,
                     std::int64_t first) {
    const std::int64_t width = weight.target.sizes[0];
    const float factor = adapter.factor(pair);
    return each_row(adapter.file, *pair.b, [&](std::int64_t row, std::span<const float> numbers) {
      for (std::int64_t i = 0; i < std::ssize(numbers); ++i) {
        const float scaled = numbers[to_size(i)] * factor;
        put(*weight.b_turned, (first + i) * width + row, {&scaled, 1});
      }
      return ok();
    });
  }

  std::span<const AdapterFile> files_;
  const FindAdapted& find_;
  std::uint32_t part_;
  AdapterStacks& made_;
  std::map<std::string, Weight> weights_;
};

Result<std::shared_ptr<const AdapterStacks>> AdapterStacks::make(std::span<const AdapterFile> files,
                                                                 const FindAdapted& find,
                                                                 std::uint32_t part) {
  const std::shared_ptr<AdapterStacks> made(new AdapterStacks);
  SHUNT_TRY(StackMaker(files, find, part, *made).make());
  return std::shared_ptr<const AdapterStacks>(made);
}

std::span<const AdapterStack> AdapterStacks::of(WeightSlot slot, std::int64_t layer) const {
  const auto found = stacks_.find({slot, layer});
  return found == stacks_.end() ? std::span<const AdapterStack>() : found->second;
}

}  // namespace shunt
