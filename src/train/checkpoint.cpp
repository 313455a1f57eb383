#include "train/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "base/guarded.h"
#include "graph/op.h"
#include "model/synth_noise.h"
#include "shunt/message.h"

namespace shunt {

namespace {

// The keys of a checkpoint in addition to those of a model.
constexpr std::string_view kPrefix = "training.";
constexpr std::string_view kSteps = "training.steps";
constexpr std::string_view kOptions = "training.options";
constexpr std::string_view kText = "training.text";
constexpr std::string_view kStart = "training.start";

struct KeptPart {
  Part part;
  std::string_view prefix;  ///< of its tensors' names
};
constexpr KeptPart kKept[] = {
    {Part::kValue, ""}, {Part::kMean, "training.mean."}, {Part::kSquare, "training.square."}};

/// Whether a file that is written from this one keeps an entry. It drops those that are not true of
/// it.
bool stays(const gguf::KeyValue& entry) {
  constexpr std::string_view kOther[] = {"general.file_type", "general.alignment"};
  return std::ranges::find(kOther, entry.key) == std::end(kOther) &&
         !entry.key.starts_with("split.") && !entry.key.starts_with(kPrefix);
}

std::string describe(const TrainOptions& options) {
  FieldPrinter printer;
  options.each([&](auto name, const auto& value) { printer(name, value); });
  return printer.take();
}

class Hash {
 public:
  void add(std::uint64_t number) { state_ = mix_bits(state_ + number + 1); }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
      add(word);
    }
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

/// Identifies a file's weights and tokens, not its path: "23 tensors, 1234567890abcdef".
Result<std::string> describe(const gguf::File& file) {
  Hash hash;
  for (const gguf::TensorInfo& info : file.tensors()) {
    hash.add(std::string_view(info.name));
    hash.add(file.data(info));
  }
  SHUNT_ASSIGN(const auto tokens,
               file.get_array("tokenizer.ggml.tokens", gguf::ValueType::kString));
  for (const std::string& token : tokens->strings) hash.add(std::string_view(token));
  return fmt::format("{} tensors, {} tokens, {:016x}", file.tensors().size(), tokens->size(),
                     hash.value());
}

/// "20 documents, 12345 tokens, 1234567890abcdef".
std::string describe(const TrainingText& text) {
  Hash hash;
  for (const std::int32_t token : text.tokens) hash.add(static_cast<std::uint32_t>(token));
  for (const std::size_t start : text.starts) hash.add(start);
  return fmt::format("{} documents, {} tokens, {:016x}", text.documents(), text.tokens.size(),
                     hash.value());
}

/// From either byte order to the other, independent of that of memory.
void turn_byte_order(DType dtype, std::span<std::byte> bytes) {
  const bool little = order_in_memory(dtype) == std::endian::little;
  convert_byte_order(dtype, little ? std::endian::big : std::endian::little, bytes);
}

/// A file that is being put together.
class Weights {
 public:
  Weights(const gguf::File& file, const Parameters& parameters)
      : file_(file), parameters_(parameters) {
    for (const gguf::KeyValue& entry : file.metadata()) {
      if (stays(entry)) writer.add(entry.key, entry.value);
    }
    writer.add_u32("general.file_type", 0);  // all F32
  }

  gguf::Writer writer;

  Status add_model() {
    for (const gguf::TensorInfo& info : file_.tensors()) {
      if (info.name.starts_with(kPrefix)) continue;
      const Parameter* const parameter = parameters_.find(&info);
      SHUNT_TRY(parameter == nullptr ? add(info.name, info.tensor, info)
                                     : add(info.name, *parameter, Part::kValue));
    }
    return ok();
  }
  Status add(std::string name, const Parameter& parameter, Part part) {
    SHUNT_TRY(writer.add_tensor(std::move(name), parameter.tensor));
    data_.push_back(
        {parameters_.bytes(parameter, part), DType::kF32, order_in_memory(DType::kF32)});
    return ok();
  }
  Status write(const std::string& path) const {
    std::vector<std::byte> turned;
    return writer.write(path, [&](std::size_t index) -> Result<std::span<const std::byte>> {
      const Data& data = data_[index];
      if (data.order == std::endian::little) return data.bytes;
      turned.assign(data.bytes.begin(), data.bytes.end());
      turn_byte_order(data.dtype, turned);
      return std::span<const std::byte>(turned);
    });
  }

 private:
  struct Data {
    std::span<const std::byte> bytes;
    DType dtype = DType::kF32;
    std::endian order = std::endian::little;
  };

  Status add(const std::string& name, const Tensor& tensor, const gguf::TensorInfo& info) {
    SHUNT_TRY(writer.add_tensor(name, tensor));
    data_.push_back({file_.data(info), tensor.dtype, info.order});
    return ok();
  }

  const gguf::File& file_;
  const Parameters& parameters_;
  std::vector<Data> data_;
};

/// Checks that an entry of a checkpoint is still true.
Status check_same(const gguf::File& checkpoint, std::string_view key, std::string_view what,
                  std::string_view now) {
  SHUNT_ASSIGN(const std::string then, checkpoint.get_string(key));
  if (then == now) return ok();
  return invalid("{}: this checkpoint needs the {} that it was made with: {}; found {}",
                 checkpoint.path(), what, then, now);
}

}  // namespace

Status write_weights(const std::string& path, const gguf::File& file,
                     const Parameters& parameters) {
  const auto write = [&]() -> Status {
    Weights weights(file, parameters);
    SHUNT_TRY(weights.add_model());
    return weights.write(path);
  };
  return guarded(write, path);
}

Status write_checkpoint(const std::string& path, const gguf::File& start,
                        const Parameters& parameters, const TrainingText& text,
                        const TrainOptions& options, std::int64_t steps) {
  const auto write = [&]() -> Status {
    Weights weights(start, parameters);
    SHUNT_ASSIGN(const std::string made_of, describe(start));
    weights.writer.add_u32(std::string(kSteps), static_cast<std::uint32_t>(steps));
    weights.writer.add_string(std::string(kOptions), describe(options));
    weights.writer.add_string(std::string(kText), describe(text));
    weights.writer.add_string(std::string(kStart), made_of);
    SHUNT_TRY(weights.add_model());
    for (const auto& [part, prefix] : kKept) {
      if (part == Part::kValue || !parameters.has(part)) continue;
      for (const Parameter& parameter : parameters.all()) {
        SHUNT_TRY(weights.add(std::string(prefix) + parameter.info->name, parameter, part));
      }
    }
    return weights.write(path);
  };
  return guarded(write, path);
}

Result<std::int64_t> read_checkpoint(const gguf::File& checkpoint, const gguf::File& start,
                                     Parameters& parameters, const TrainingText& text,
                                     const TrainOptions& options) {
  if (checkpoint.find(kSteps) == nullptr) {
    return invalid("{} is not a training checkpoint", checkpoint.path());
  }
  SHUNT_ASSIGN(const std::int64_t steps, checkpoint.get_integer(kSteps));
  SHUNT_ASSIGN(const std::string made_of, describe(start));
  SHUNT_TRY(check_same(checkpoint, kStart, "model", made_of));
  SHUNT_TRY(check_same(checkpoint, kOptions, "options", describe(options)));
  SHUNT_TRY(check_same(checkpoint, kText, "text", describe(text)));
  if (steps < 0 || steps > options.steps) {
    return fail(ErrorCode::kBadFile, "{}: {} is {}, of {} steps in all", checkpoint.path(), kSteps,
                steps, options.steps);
  }
  for (const auto& [part, prefix] : kKept) {
    if (!parameters.has(part)) continue;
    for (const Parameter& parameter : parameters.all()) {
      const std::string name = std::string(prefix) + parameter.info->name;
      const gguf::TensorInfo* const info = checkpoint.find_tensor(name);
      const auto to = parameters.bytes(parameter, part);
      if (info == nullptr || info->tensor.dtype != DType::kF32 ||
          info->tensor.shape != parameter.tensor.shape) {
        return fail(ErrorCode::kBadFile, "{}: there is no tensor {} of {}", checkpoint.path(), name,
                    to_string(parameter.tensor));
      }
      std::memcpy(to.data(), checkpoint.data(*info).data(), to.size());
      convert_byte_order(DType::kF32, info->order, to);
    }
  }
  return steps;
}

}  // namespace shunt
