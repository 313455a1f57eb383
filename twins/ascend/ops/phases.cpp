// The two phases of every operator.
#include <algorithm>
#include <utility>

#include "ascend/memory/space.h"
#include "ascend/ops/executor.h"
#include "ascend/ops/op.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"
#include "ascend/strict/nz.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

constexpr std::uint64_t kBlock = 64;
constexpr std::size_t kMostDimensions = 8;

std::uint64_t up(std::uint64_t value) {
  return (value + kBlock - 1) / kBlock * kBlock;
}

bool is_tensor(const Argument& argument) {
  return argument.kind == Argument::Kind::kTensor || argument.kind == Argument::Kind::kList;
}

bool is_written(char role) {
  return role == 'o' || role == 'O' || role == 'x';
}

Access access_of(char role) {
  if (role == 'p') return Access::kReadInPart;
  return role == 'x' ? Access::kReadAndWrite : is_written(role) ? Access::kWrite : Access::kRead;
}

Status check_nulls(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!call.has(i) && !call.is_optional(i))
      return refuse(ACLNN_ERR_PARAM_NULLPTR, call.describe(i) + " is null");
    if (call.at(i).kind != Argument::Kind::kText && call.at(i).text == "destroyed")
      return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(i) + " was destroyed");
  }
  return ACL_SUCCESS;
}

/// Before any arithmetic with the sizes.
Status check_sizes(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& view : call.at(i).views) {
      const View::Fault fault = view.fault();
      if (fault == View::Fault::kNegativeSize)
        return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(i) + ", with a negative size");
      if (fault == View::Fault::kOverflow) {
        return refuse(ACLNN_ERR_INNER_NULLPTR, call.describe(i) + ", strides " +
                                                   text_of(view.strides) + ", storage " +
                                                   text_of(view.storage) + ": beyond " +
                                                   std::to_string(kMostElements) + " elements");
      }
    }
  }
  return ACL_SUCCESS;
}

/// A view that leaves its storage is 561103 (facts B).
Status check_view(const Call& call, std::size_t position, const View& view) {
  if (view.rank() > kMostDimensions)
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(position) + ", of too many dimensions");
  const View::Reach reach = view.reach();
  if (!view.is_nz() && (reach.begin < 0 || reach.end > view.storage_elements())) {
    return refuse(ACLNN_ERR_INNER_NULLPTR, call.describe(position) + ", which reaches element " +
                                               std::to_string(reach.end - 1) + " of a storage of " +
                                               std::to_string(view.storage_elements()));
  }
  return ACL_SUCCESS;
}

/// Of all tensors: in both phases, as addresses may be set between them.
Status check_bases(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& view : call.at(i).views) {
      if (reinterpret_cast<std::uintptr_t>(view.base) % 32 == 0) continue;
      ASCEND_TWIN_TRY(
          object(ACLNN_ERR_PARAM_INVALID, call.describe(i) + ", its base not on 32 bytes"));
    }
  }
  return ACL_SUCCESS;
}

/// Why these bytes are no workspace; empty if they are one.
std::string workspace_fault(const void* workspace, std::uint64_t bytes) {
  const Found found = space().find(workspace, bytes);
  if (found.range == nullptr) return found.why;
  const auto offset = static_cast<std::uint64_t>(found.host - found.range->host);
  if (offset + bytes <= found.range->bytes) return "";
  return std::to_string(bytes) + " bytes in allocation " + std::to_string(found.range->number) +
         " of " + std::to_string(found.range->bytes);
}

/// Memory of another device needs both directions of access.
Status check_access(const Operand& operand, std::int32_t device, const std::string& what) {
  if (operand.range == nullptr || !operand.range->is_device() ||
      are_peers(device, operand.range->device))
    return ACL_SUCCESS;
  return refuse(static_cast<Status>(unknown("peer copy without access code")),
                what + " is on device " + std::to_string(operand.range->device) +
                    ", which device " + std::to_string(device) + " has no access to");
}

Status check_views(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& view : call.at(i).views) ASCEND_TWIN_TRY(check_view(call, i, view));
  }
  return ACL_SUCCESS;
}

/// A failed first phase of the inner kind spoils the thread's next one unless exception information
/// was asked for (facts B).
Status with_aftermath(Status code) {
  Thread& thread = this_thread();
  if (setting(Setting::kAftermath) == 0 || library().exception_information) return code;
  if (code == ACL_SUCCESS && std::exchange(thread.aftermath, false))
    return refuse(ACLNN_ERR_INNER_NULLPTR, "an earlier first phase of this thread failed");
  thread.aftermath = code / 1000 == 561;
  return code;
}

/// Bytes that an ND result overwrites are not NZ any more.
void forget_written(const View& view) {
  const View::Reach reach = view.reach();
  const auto begin = bytes_of(view.type, static_cast<std::uint64_t>(reach.begin));
  const auto end = bytes_of(view.type, static_cast<std::uint64_t>(reach.end));
  forget_nz(static_cast<const std::byte*>(view.base) + begin, end - begin);
}

/// A repeatable executor has seen its descriptors in its first run.
Status check_descriptors(aclOpExecutor& executor) {
  if (std::exchange(executor.has_run, true)) return ACL_SUCCESS;
  for (const auto& descriptor : executor.descriptors) {
    if (!descriptor.expired()) continue;
    return object(ACLNN_ERR_PARAM_INVALID,
                  std::string("aclnn") + executor.call.op().name +
                      ": a tensor, scalar or array was destroyed between the phases");
  }
  return ACL_SUCCESS;
}

std::vector<Extent> extents_of(const Call& call) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& described : call.at(i).views) {
      const View view = call.op().touched == nullptr ? described : call.op().touched(described);
      const View::Reach reach = view.reach();
      if (reach.end == 0) continue;
      const auto begin = static_cast<std::uint64_t>(reach.begin);
      const std::uint64_t first = begin * bits_of(view.type) / 8;
      extents.push_back({static_cast<const std::byte*>(view.base) + first,
                         bytes_of(view.type, static_cast<std::uint64_t>(reach.end)) - first,
                         is_written(call.role(i)), "argument " + std::to_string(i)});
    }
  }
  return extents;
}

}  // namespace

Status Kernel::open() {
  operands_.resize(call.size());
  for (std::size_t i = 0; i < call.size(); ++i) {
    for (const View& view : call.at(i).views) {
      Operand operand;
      const Access access = access_of(call.role(i));
      ASCEND_TWIN_TRY(open_operand(view, access, call.describe(i), &operand));
      ASCEND_TWIN_TRY(check_access(operand, run.device, call.describe(i)));
      if (access != Access::kWrite) ASCEND_TWIN_TRY(check_nz(view, call.describe(i)));
      if (is_strict() && is_written(call.role(i)) && !view.is_nz()) forget_written(view);
      operands_[i].push_back(std::move(operand));
    }
  }
  return ACL_SUCCESS;
}

bool is_empty(const Call& call) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!is_written(call.role(i))) continue;
    for (const View& view : call.at(i).views) {
      if (view.elements() != 0) return false;
    }
  }
  return true;
}

std::uint64_t workspace_of(const Call& call) {
  if (is_empty(call)) return 0;
  std::uint64_t bytes = call.op().workspace == nullptr ? 0 : call.op().workspace(call);
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (!is_tensor(call.at(i))) continue;
    for (const View& view : call.at(i).views) {
      if (!view.is_contiguous() && !view.is_nz())
        bytes += up(bytes_of(view.type, static_cast<std::uint64_t>(view.elements())));
    }
  }
  return up(bytes);
}

Status bind(Call& call, std::string_view support) {
  if (setting(Setting::kOpp) != 0)
    return refuse(ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND, "ASCEND_OPP_PATH leads nowhere");
  ASCEND_TWIN_TRY(check_nulls(call));
  if (call.at(call.op().typed_by).views.empty())  // a list without members
    return refuse(ACLNN_ERR_PARAM_INVALID, call.describe(call.op().typed_by) + " has no tensor");
  const aclDataType type = call.view(call.op().typed_by).type;
  const std::string row = support.empty() ? call.op().name : std::string(support);
  if (const Status code = support_of(row, type); code != ACL_SUCCESS) {
    return refuse(code, call.describe(call.op().typed_by) + ", which this chip's operator " + row +
                            " has not");
  }
  ASCEND_TWIN_TRY(check_sizes(call));
  ASCEND_TWIN_TRY(call.op().check(call));
  ASCEND_TWIN_TRY(check_views(call));
  return check_bases(call);
}

TaskPointer task_of(const Call& call, const void* workspace, std::uint64_t bytes) {
  auto task = std::make_shared<Task>();
  task->kind = Task::Kind::kKernel;
  task->name = std::string("aclnn") + call.op().name;
  task->extents = extents_of(call);
  if (bytes != 0) task->extents.push_back({workspace, bytes, true, "workspace"});
  task->body = [call, workspace, bytes](const Run& run) -> Status {
    twin::enter(call.op().name);
    if (bytes != 0) {
      const Found found = space().find(workspace, bytes);
      if (found.range == nullptr)
        return refuse(ACL_ERROR_RT_AICORE_EXCEPTION, "the workspace: " + found.why);
    }
    Kernel kernel(call, run);
    ASCEND_TWIN_TRY(kernel.open());
    return call.op().run(kernel);
  };
  return task;
}

Status first_phase(const Op& op, std::initializer_list<Argument> arguments, uint64_t* workspace,
                   aclOpExecutor** executor) {
  if (workspace == nullptr || executor == nullptr)
    return refuse(ACLNN_ERR_PARAM_NULLPTR, "no place for the size or the executor");
  this_thread().fresh_executor = nullptr;
  if (fault_is_due(Setting::kFailFirstPhase)) {
    return with_aftermath(refuse(static_cast<Status>(setting(Setting::kFirstPhaseCode)),
                                 "the first phase fails, as the fault asks"));
  }
  Call bound(op, arguments);
  ASCEND_TWIN_TRY(with_aftermath(bind(bound)));
  auto made = std::make_shared<aclOpExecutor>(std::move(bound));
  made->empty = is_empty(made->call);
  made->workspace = workspace_of(made->call);
  made->from_cache = is_in_cache(made->call);
  if (is_strict()) made->descriptors = descriptors_of(made->call);
  *workspace = made->workspace;
  *executor = executors().add(made);
  this_thread().fresh_executor = *executor;
  count(ASCEND_TWIN_FIRST_PHASES);
  if (op.finish != nullptr) op.finish(made->call);
  return ACL_SUCCESS;
}

Status second_phase(const Op& op, void* workspace, uint64_t bytes, aclOpExecutor* executor,
                    aclrtStream handle) {
  if (executor == nullptr) return refuse(ACLNN_ERR_PARAM_NULLPTR, "the executor is null");
  const std::shared_ptr<aclOpExecutor> found = executors().find(executor);
  if (found == nullptr) {
    // The real one would use freed memory: never taken, strict or not.
    ASCEND_TWIN_TRY(object(ACLNN_ERR_INNER, "the executor was used or destroyed before"));
    return refuse(ACLNN_ERR_INNER, "the executor was used or destroyed before");
  }
  if (&found->call.op() != &op) {
    return refuse(ACLNN_ERR_PARAM_INVALID,
                  std::string("the executor is of aclnn") + found->call.op().name);
  }
  if (!found->repeatable) executors().remove(executor);  // on failure, too
  if (this_thread().fresh_executor == executor) this_thread().fresh_executor = nullptr;
  ASCEND_TWIN_TRY(check_descriptors(*found));
  if (workspace == nullptr && bytes != 0)
    return refuse(ACLNN_ERR_PARAM_NULLPTR, "the workspace is null");
  if (bytes < found->workspace) {
    ASCEND_TWIN_TRY(object(ACLNN_ERR_PARAM_INVALID, "a workspace of " + std::to_string(bytes) +
                                                        " bytes instead of " +
                                                        std::to_string(found->workspace)));
  } else if (found->workspace != 0) {
    if (const std::string fault = workspace_fault(workspace, found->workspace); !fault.empty())
      ASCEND_TWIN_TRY(object(ACLNN_ERR_PARAM_INVALID, "the workspace: " + fault));
  }
  ASCEND_TWIN_TRY(check_bases(found->call));
  if (fault_is_due(Setting::kFailLaunch))
    return refuse(ACLNN_ERR_RUNTIME_ERROR, "the launch fails, as the fault asks");
  std::shared_ptr<Stream> stream;
  ASCEND_TWIN_TRY(stream_of(handle, &stream));
  count(ASCEND_TWIN_SECOND_PHASES);
  if (found->empty) return ACL_SUCCESS;
  return stream->submit(task_of(found->call, workspace, found->workspace));
}

Status launch(const Op& op, std::vector<Argument> arguments, Stream& stream,
              std::string_view support) {
  Call bound(op, std::move(arguments));
  ASCEND_TWIN_TRY(bind(bound, support));
  if (is_empty(bound)) return ACL_SUCCESS;
  return stream.submit(task_of(bound, nullptr, 0));
}

}  // namespace ascend_twin
