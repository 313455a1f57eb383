/// \file
/// Converting a Hugging Face folder, or a GGUF file in a form of earlier years, to a GGUF file.
///
/// \code
/// SHUNT_ASSIGN(const auto conversion, FolderConversion::open("Qwen3-0.6B"));
/// SHUNT_TRY(conversion.write("qwen3.gguf", {.type = "Q4_K_M"}));
/// \endcode
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shunt/error.h"
#include "shunt/gguf.h"
#include "shunt/quantize.h"

namespace shunt {

/// How a folder is read. Options without an effect are Invalid: names of tensors that it lacks, a
/// base for a folder of a model, names for an adapter, and both for a GGUF file.
struct FolderOptions {
  /// Names of tensors that are left aside, though no table says that they may be.
  std::vector<std::string> ignored = {};
  /// Of an adapter: the folder of the model that it is for, of which config.json is read. Empty:
  /// the folder of the adapter has that.
  std::string base = {};
};

/// A folder that was read and checked, without the data of its tensors. A copy is a pointer.
class FolderConversion {
 public:
  /// A folder with config.json and safetensors, or one safetensors file beside its config.json. A
  /// folder with adapter_config.json becomes a LoRA adapter. Or a GGUF file of 2023 or 2024 whose
  /// experts are a tensor each, or with `attn_kv_b`: Invalid if it has today's form.
  /// NotFound, Io, BadFile or Unsupported, each naming file and place; Unsupported also for a model
  /// or a tensor that Shunt does not know.
  static Result<FolderConversion> open(const std::string& path, const FolderOptions& options = {});

  /// The keys and tensors of the file, as they are without another type. It has no data.
  const gguf::File& file() const;
  /// For the user, a line each: tensors that are left aside, and all else that is not as in the
  /// folder.
  const std::vector<std::string>& notes() const;

  /// Decides the type of every tensor, as plan_quantization() does; without `options.type` each has
  /// that of the folder. The plan points into this and options.importance. Invalid for an adapter
  /// with a type.
  Result<QuantizationPlan> plan(const QuantizeOptions& options) const;
  /// Writes the file by way of a temporary one. The bytes are those of write_quantized() for a file
  /// of this conversion. Errors are those of that, and Invalid if `path` is a file
  /// of the folder, which GGUF files are not.
  Result<QuantizeResult> write(const std::string& path, const QuantizationPlan& plan,
                               const QuantizeOptions& options,
                               const QuantizeProgress& progress = {}) const;

 private:
  struct State;
  explicit FolderConversion(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace shunt
