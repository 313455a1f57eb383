// New parameters for captured tasks: a stream collects work that replaces that of a group.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ascend/capture/model.h"
#include "ascend/runtime/stream.h"

namespace ascend_twin {

class Update : public Recorder {
 public:
  explicit Update(std::shared_ptr<TaskGroup> group) : group_(std::move(group)) {}
  Status record(Stream& stream, TaskPointer task) override;
  void invalidate() override {}
  /// Replays that are submitted from here on have the new tasks. 107040 unless each task of the
  /// group has one of the same name.
  Status end();

 private:
  const std::shared_ptr<TaskGroup> group_;
  std::mutex mutex_;
  std::vector<TaskPointer> tasks_;
};

}  // namespace ascend_twin
