// Compiling and executing single operators.
#include <bit>

#include "ascend/include/ascend_twin.h"
#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/runtime/stream.h"
#include "ascend/single_ops/objects.h"
#include "ascend/single_ops/state.h"
#include "ascend/support.h"

namespace ascend_twin {

Status not_built(const SingleOp& use, const std::string& reason) {
  return refuse(ACL_ERROR_GE_FAILURE, use.type + ": " + reason);
}

namespace {

Status invalid(const std::string& reason) {
  return refuse(ACL_ERROR_INVALID_PARAM, reason);
}

/// One side of a call, as the caller passed it. `buffers` is null when only compiling.
struct Side {
  const char* name;  ///< "input"
  int count;
  const aclTensorDesc* const* descriptions;
  const aclDataBuffer* const* buffers;
};

bool is_plain(aclFormat format) {
  switch (format) {
    case ACL_FORMAT_UNDEFINED:
    case ACL_FORMAT_ND:
    case ACL_FORMAT_NCHW:
    case ACL_FORMAT_NHWC:
    case ACL_FORMAT_HWCN:
    case ACL_FORMAT_NDHWC:
    case ACL_FORMAT_NCDHW:
    case ACL_FORMAT_NC:
    case ACL_FORMAT_NCL:
      return true;
    default:
      return false;
  }
}

/// Reads a tensor in host memory, whose bytes are enough.
void read_constant(const View& view, const std::byte* memory, Constant* constant) {
  constant->is_host = true;
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    constant->reals.push_back(decode(view.type, memory, index));
    constant->integers.push_back(decode_integer(view.type, memory, index));
  }
}

Status take_buffer(const aclTensorDesc& description, const aclDataBuffer* handle,
                   const std::string& what, View* view, Constant* constant) {
  const std::shared_ptr<aclDataBuffer> buffer = single_op_objects().buffers.find(handle);
  if (buffer == nullptr) return invalid(what + "'s buffer is null or was destroyed");
  const std::uint64_t bytes = bytes_of(view->type, static_cast<std::uint64_t>(view->elements()));
  if (description.is_constant) return ACL_SUCCESS;
  if (buffer->bytes < bytes || (buffer->data == nullptr && bytes != 0)) {
    return invalid(what + " needs " + std::to_string(bytes) + " bytes, its buffer has " +
                   std::to_string(buffer->bytes));
  }
  view->base = buffer->data;
  if (description.placement == ACL_MEMTYPE_DEVICE || bytes == 0) return ACL_SUCCESS;
  const Found found = space().find_any(buffer->data, bytes);
  if (found.host == nullptr) return invalid(what + ": " + found.why);
  if (space().is_device_region(buffer->data) && !profile()->one_memory)
    return invalid(what + " is in device memory, not in the host's");
  read_constant(*view, found.host, constant);
  return ACL_SUCCESS;
}

Status take_tensor(const Side& side, int position, View* view, Constant* constant) {
  const std::string what = std::string(side.name) + " " + std::to_string(position);
  const auto description = single_op_objects().descriptions.find(side.descriptions[position]);
  if (description == nullptr) return invalid(what + "'s description is null or was destroyed");
  if (description->type == ACL_DT_UNDEFINED) return ACL_SUCCESS;  // left out
  if (bits_of(description->type) == 0) {
    return refuse(ACL_ERROR_UNSUPPORTED_DATA_TYPE,
                  what + " is of type " + std::to_string(static_cast<int>(description->type)));
  }
  if (!is_plain(description->format)) {
    return refuse(ACL_ERROR_FORMAT_NOT_MATCH,
                  what + " is of format " + std::to_string(static_cast<int>(description->format)));
  }
  *view = dense_view(description->type, description->shape, nullptr);
  if (view->fault() != View::Fault::kNone)
    return invalid(what + " has the shape " + text_of(description->shape));
  if (description->is_constant) {
    if (description->constant.size() <
        bytes_of(view->type, static_cast<std::uint64_t>(view->elements())))
      return invalid(what + "'s constant has " + std::to_string(description->constant.size()) +
                     " bytes, too few for " + text_of(view->shape));
    read_constant(*view, description->constant.data(), constant);
  }
  if (side.buffers == nullptr) return ACL_SUCCESS;
  return take_buffer(*description, side.buffers[position], what, view, constant);
}

Status take_side(const Side& side, bool with_buffers, std::vector<View>* views,
                 std::vector<Constant>* constants) {
  constexpr int kMost = 1000;
  if (side.count < 0 || side.count > kMost)
    return invalid(std::to_string(side.count) + " times " + side.name);
  if (side.count != 0 &&
      (side.descriptions == nullptr || (with_buffers && side.buffers == nullptr)))
    return invalid(std::string("the list of ") + side.name + "s is null");
  views->resize(static_cast<std::size_t>(side.count));
  constants->resize(static_cast<std::size_t>(side.count));
  for (int i = 0; i < side.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASCEND_TWIN_TRY(take_tensor(side, i, &(*views)[at], &(*constants)[at]));
  }
  return ACL_SUCCESS;
}

Status take(const char* type, const Side& inputs, const Side& outputs, const aclopAttr* attr,
            bool with_buffers, SingleOp* use) {
  if (type == nullptr) return invalid("the operator's type is null");
  use->type = type;
  if (attr != nullptr) {  // none: all as they are at first
    const std::shared_ptr<aclopAttr> found = single_op_objects().attributes.find(attr);
    if (found == nullptr) return invalid("the attributes were destroyed");
    use->attributes = found->values;
  }
  ASCEND_TWIN_TRY(take_side(inputs, with_buffers, &use->inputs, &use->constants));
  std::vector<Constant> results;
  ASCEND_TWIN_TRY(take_side(outputs, with_buffers, &use->outputs, &results));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].is_host)
      return refuse(ACL_ERROR_FEATURE_UNSUPPORTED,
                    "output " + std::to_string(i) + " is in host memory");
  }
  return ACL_SUCCESS;
}

/// The first input in device memory, else the result, decides what the chip has.
aclDataType deciding_type(const SingleOp& use) {
  for (std::size_t i = 0; i < use.inputs.size(); ++i) {
    if (use.has_input(i) && !use.constants[i].is_host) return use.inputs[i].type;
  }
  return use.outputs[0].type;
}

/// The compiler's checks that need no values of the inputs.
Status check_type(const SingleOp& use, const SingleOpRow** row, const Op** op) {
  if (setting(Setting::kOpp) != 0)
    return refuse(ACL_ERROR_INVALID_OPP_PATH, "ASCEND_OPP_PATH leads nowhere");
  *row = find_row(use.type);
  *op = *row == nullptr ? nullptr : find_single_op((*row)->op);
  if (*op == nullptr) return refuse(ACL_ERROR_OP_NOT_FOUND, "no operator " + use.type);
  if (use.inputs.size() < (*row)->least || use.inputs.size() > (*row)->most ||
      use.outputs.size() != 1 || use.outputs[0].type == ACL_DT_UNDEFINED) {
    return not_built(use, std::to_string(use.inputs.size()) + " inputs and " +
                              std::to_string(use.outputs.size()) + " outputs");
  }
  const aclDataType type = deciding_type(use);
  const Status code = support_of("aclop:" + use.type, type);
  if (code == ACL_SUCCESS) return ACL_SUCCESS;
  const std::string reason = std::string("this chip has no ") + use.type + " of " + name_of(type);
  return refuse(
      code == ACLNN_ERR_PARAM_INVALID ? ACL_ERROR_UNSUPPORTED_DATA_TYPE : ACL_ERROR_OP_NOT_FOUND,
      reason);
}

struct TextOf {
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {  // all its bits
    return std::to_string(std::bit_cast<std::uint64_t>(value));
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return '"' + value + '"'; }
  template <class Value>
  std::string operator()(const std::vector<Value>& values) const {
    std::string text = "[";
    for (const Value& value : values) text += (*this)(value) + " ";
    return text + "]";
  }
};

/// Of the same text: compiled as one.
std::string key_of(const SingleOp& use) {
  std::string key = use.type;
  for (const auto* const views : {&use.inputs, &use.outputs}) {
    for (const View& view : *views)
      key += std::string(" ") + name_of(view.type) + text_of(view.shape);
    key += ";";
  }
  for (const auto& [name, value] : use.attributes)
    key += " " + name + "=" + std::visit(TextOf{}, value);
  return key;
}

void keep_compiled(const SingleOp& use) {
  const std::shared_ptr<SingleOpState> state = single_op_state();
  const std::lock_guard lock(state->mutex);
  state->compiled.insert(key_of(use));
}
bool is_compiled(const SingleOp& use) {
  const std::shared_ptr<SingleOpState> state = single_op_state();
  const std::lock_guard lock(state->mutex);
  return state->compiled.count(key_of(use)) != 0;
}

/// The operator's own codes are not those of this interface.
Status from_operator(Status code) {
  const Status family = code / 1000;
  if (family != 161 && family != 361 && family != 561) return code;
  return refuse(ACL_ERROR_GE_FAILURE, std::string(ascend_twin_last_message()));
}

Status execute(const SingleOp& use, const SingleOpRow& row, const Op& op, aclrtStream handle) {
  std::vector<Argument> arguments;
  ASCEND_TWIN_TRY(row.arguments(use, &arguments));
  std::shared_ptr<Stream> stream;
  ASCEND_TWIN_TRY(stream_of(handle, &stream));
  if (fault_is_due(Setting::kFailLaunch))
    return refuse(ACL_ERROR_RT_FAILURE, "the launch fails, as the fault asks");
  return from_operator(launch(op, std::move(arguments), *stream, "aclop:" + use.type));
}

Status check_engine(aclopEngineType engine, aclopCompileType compile) {
  if (engine < ACL_ENGINE_SYS || engine > ACL_ENGINE_VECTOR)
    return invalid("engine " + std::to_string(static_cast<int>(engine)));
  if (compile != ACL_COMPILE_SYS && compile != ACL_COMPILE_UNREGISTERED)
    return invalid("compile type " + std::to_string(static_cast<int>(compile)));
  return ACL_SUCCESS;
}

Status compile_and_execute(const char* type, const Side& inputs, const Side& outputs,
                           const aclopAttr* attr, aclopEngineType engine, aclopCompileType compile,
                           aclrtStream stream) {
  ASCEND_TWIN_TRY(check_engine(engine, compile));
  SingleOp use;
  ASCEND_TWIN_TRY(take(type, inputs, outputs, attr, true, &use));
  const SingleOpRow* row = nullptr;
  const Op* op = nullptr;
  ASCEND_TWIN_TRY(check_type(use, &row, &op));
  ASCEND_TWIN_TRY(execute(use, *row, *op, stream));
  keep_compiled(use);
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclopCompile(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                      int numOutputs, const aclTensorDesc* const outputDesc[],
                      const aclopAttr* attr, aclopEngineType engineType,
                      aclopCompileType compileFlag, const char* /*opPath*/) {
  return call("aclopCompile", Need::kContext, [&]() -> Status {
    ASCEND_TWIN_TRY(check_engine(engineType, compileFlag));
    SingleOp use;
    ASCEND_TWIN_TRY(take(opType, {"input", numInputs, inputDesc, nullptr},
                         {"output", numOutputs, outputDesc, nullptr}, attr, false, &use));
    const SingleOpRow* row = nullptr;
    const Op* op = nullptr;
    ASCEND_TWIN_TRY(check_type(use, &row, &op));
    keep_compiled(use);
    return ACL_SUCCESS;
  });
}

aclError aclopCompileAndExecute(const char* opType, int numInputs,
                                const aclTensorDesc* const inputDesc[],
                                const aclDataBuffer* const inputs[], int numOutputs,
                                const aclTensorDesc* const outputDesc[],
                                aclDataBuffer* const outputs[], const aclopAttr* attr,
                                aclopEngineType engineType, aclopCompileType compileFlag,
                                const char* /*opPath*/, aclrtStream stream) {
  return call("aclopCompileAndExecute", Need::kContext, [&] {
    return compile_and_execute(opType, {"input", numInputs, inputDesc, inputs},
                               {"output", numOutputs, outputDesc, outputs}, attr, engineType,
                               compileFlag, stream);
  });
}

aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                  aclDataBuffer* inputs[], int numOutputs,
                                  aclTensorDesc* outputDesc[], aclDataBuffer* outputs[],
                                  aclopAttr* attr, aclopEngineType engineType,
                                  aclopCompileType compileFlag, const char* /*opPath*/,
                                  aclrtStream stream) {
  return call("aclopCompileAndExecuteV2", Need::kContext, [&] {
    return compile_and_execute(opType, {"input", numInputs, inputDesc, inputs},
                               {"output", numOutputs, outputDesc, outputs}, attr, engineType,
                               compileFlag, stream);
  });
}

aclError aclopExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                        aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                        aclDataBuffer* outputs[], aclopAttr* attr, aclrtStream stream) {
  return call("aclopExecuteV2", Need::kContext, [&]() -> Status {
    SingleOp use;
    ASCEND_TWIN_TRY(take(opType, {"input", numInputs, inputDesc, inputs},
                         {"output", numOutputs, outputDesc, outputs}, attr, true, &use));
    if (!is_compiled(use)) {
      return refuse(ACL_ERROR_OP_NOT_FOUND,
                    use.type + " was not compiled for these tensors and attributes");
    }
    const SingleOpRow* row = nullptr;
    const Op* op = nullptr;
    ASCEND_TWIN_TRY(check_type(use, &row, &op));
    return execute(use, *row, *op, stream);
  });
}

// Files of compiled operators are the vendor's: the twin executes none.
aclError aclopSetModelDir(const char* modelDir) {
  return call("aclopSetModelDir", Need::kInitialised, [&]() -> Status {
    if (modelDir == nullptr) return invalid("the folder is null");
    return refuse(ACL_ERROR_OP_LOAD_FAILED,
                  std::string("the twin loads no compiled operators from ") + modelDir);
  });
}

aclError aclopLoad(const void* model, size_t modelSize) {
  return call("aclopLoad", Need::kInitialised, [&]() -> Status {
    if (model == nullptr || modelSize == 0) return invalid("the model is null or empty");
    return refuse(ACL_ERROR_OP_LOAD_FAILED, "the twin loads no compiled operators");
  });
}
