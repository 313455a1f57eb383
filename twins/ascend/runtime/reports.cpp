// Callbacks that streams launch, and the threads of the program that run them.
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/resets.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"

namespace ascend_twin {
namespace {

/// One callback in its stream's turn.
struct Report {
  aclrtCallback callback = nullptr;
  void* data = nullptr;
  bool done = false;
};

/// Of one subscribed thread.
struct Inbox {
  std::deque<std::shared_ptr<Report>> reports;
};

struct Reports {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, std::shared_ptr<Inbox>> threads;
  std::map<std::int32_t, std::uint64_t> streams;  ///< number of the stream, and its thread
};
Reports& reports() {
  static auto* all = new Reports;  // no destructor runs at exit
  return *all;
}

/// In the stream's turn. A subscription that is gone takes its callbacks along.
Status hand_over(const std::shared_ptr<Report>& report, bool blocks, const Run& run) {
  constexpr auto kReportLook = std::chrono::milliseconds(2);
  const std::int32_t stream = run.stream->id();
  std::unique_lock lock(reports().mutex);
  const auto thread = reports().streams.find(stream);
  if (thread == reports().streams.end())
    return refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "the stream is not subscribed any more");
  report->done = false;
  reports().threads[thread->second]->reports.push_back(report);
  reports().changed.notify_all();
  while (blocks && !report->done) {
    reports().changed.wait_for(lock, kReportLook);
    if (reports().streams.find(stream) == reports().streams.end()) break;
    lock.unlock();
    const bool drops = run.stream->is_dropping();
    lock.lock();
    if (drops) break;
  }
  return ACL_SUCCESS;
}

Status subscribe(std::uint64_t thread, Stream& stream) {
  const std::lock_guard lock(reports().mutex);
  if (!reports().streams.emplace(stream.id(), thread).second)
    return refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "the stream is subscribed already");
  auto& inbox = reports().threads[thread];
  if (inbox == nullptr) inbox = std::make_shared<Inbox>();
  return ACL_SUCCESS;
}

Status unsubscribe(std::uint64_t thread, Stream& stream) {
  const std::lock_guard lock(reports().mutex);
  const auto found = reports().streams.find(stream.id());
  if (found == reports().streams.end() || found->second != thread)
    return refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "the stream is not subscribed to this thread");
  reports().streams.erase(found);
  bool is_used = false;
  for (const auto& [id, other] : reports().streams) is_used = is_used || other == thread;
  if (!is_used) reports().threads.erase(thread);
  reports().changed.notify_all();
  return ACL_SUCCESS;
}

Status process(std::int64_t milliseconds) {
  const auto self = static_cast<std::uint64_t>(::pthread_self());
  std::shared_ptr<Report> report;
  {
    std::unique_lock lock(reports().mutex);
    const auto find = [&] { return reports().threads.find(self); };
    if (find() == reports().threads.end())
      return refuse(ACL_ERROR_RT_THREAD_SUBSCRIBE, "no stream is subscribed to this thread");
    const auto is_due = [&] {
      const auto found = find();
      return found == reports().threads.end() || !found->second->reports.empty();
    };
    if (milliseconds < 0) {
      reports().changed.wait(lock, is_due);
    } else if (!reports().changed.wait_for(lock, std::chrono::milliseconds(milliseconds), is_due)) {
      return refuse(ACL_ERROR_RT_WAIT_TIMEOUT,
                    "no callback in " + std::to_string(milliseconds) + " ms");
    }
    const auto found = find();
    if (found == reports().threads.end())
      return refuse(ACL_ERROR_RT_THREAD_SUBSCRIBE, "the subscription ended");
    report = found->second->reports.front();
    found->second->reports.pop_front();
  }
  report->callback(report->data);
  const std::lock_guard lock(reports().mutex);
  report->done = true;
  reports().changed.notify_all();
  return ACL_SUCCESS;
}

const AtReset drop_reports([] {
  const std::lock_guard lock(reports().mutex);
  reports().streams.clear();
  reports().threads.clear();
  reports().changed.notify_all();
});

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclrtSubscribeReport(uint64_t thread, aclrtStream handle) {
  return call("aclrtSubscribeReport", Need::kContext, [&]() -> Status {
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    return subscribe(thread, *stream);
  });
}

aclError aclrtUnSubscribeReport(uint64_t thread, aclrtStream handle) {
  return call("aclrtUnSubscribeReport", Need::kContext, [&]() -> Status {
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    return unsubscribe(thread, *stream);
  });
}

aclError aclrtProcessReport(int32_t milliseconds) {
  return call("aclrtProcessReport", Need::kInitialised, [&]() -> Status {
    if (milliseconds == 0 || milliseconds < -1)
      return refuse(ACL_ERROR_INVALID_PARAM, std::to_string(milliseconds) + " ms");
    return process(milliseconds);
  });
}

aclError aclrtLaunchCallback(aclrtCallback callback, void* data, aclrtCallbackBlockType block,
                             aclrtStream handle) {
  return call("aclrtLaunchCallback", Need::kContext, [&]() -> Status {
    if (callback == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the callback is null");
    if (block != ACL_CALLBACK_NO_BLOCK && block != ACL_CALLBACK_BLOCK)
      return refuse(ACL_ERROR_INVALID_PARAM, "block type " + std::to_string(block));
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    {
      const std::lock_guard lock(reports().mutex);
      if (reports().streams.find(stream->id()) == reports().streams.end())
        return refuse(ACL_ERROR_RT_STREAM_SUBSCRIBE, "no thread is subscribed to the stream");
    }
    auto task = std::make_shared<Task>();
    task->kind = Task::Kind::kHost;
    task->name = "aclrtLaunchCallback";
    task->body = [callback, data, block](const Run& run) -> Status {
      return hand_over(std::make_shared<Report>(Report{callback, data, false}),
                       block == ACL_CALLBACK_BLOCK, run);
    };
    return stream->submit(task);
  });
}

aclError aclrtLaunchHostFunc(aclrtStream handle, aclrtHostFunc function, void* args) {
  return call("aclrtLaunchHostFunc", Need::kContext, [&]() -> Status {
    if (function == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the function is null");
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    auto task = std::make_shared<Task>();
    task->kind = Task::Kind::kHost;
    task->name = "aclrtLaunchHostFunc";
    task->body = [function, args](const Run&) -> Status {
      const InCallback inside;
      function(args);
      return ACL_SUCCESS;
    };
    return stream->submit(task);
  });
}
