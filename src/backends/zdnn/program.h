// A segment on the accelerator: what is computed stays in the machine's layout as long as only the
// machine reads it. A tensor goes into that layout at most once a segment, or once more in a form
// that a kernel makes of it (SourceForm), and out of it at most once.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "backends/zdnn/kernel.h"
#include "backends/zdnn/weight_memory.h"
#include "shunt/device.h"

namespace shunt::zdnn {

using Table = KernelTable<ZdnnKernel>;

/// How often which node met numbers that DLFLOAT16 does not have. From any thread.
class RangeCounts {
 public:
  /// `saturated`: they became the largest one. Else the node was computed by its plain meaning.
  void count(const std::string& node, bool saturated);
  std::vector<DeviceWarning> warnings() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, bool>, std::uint64_t> counts_;
};

/// What programs share.
struct Shared {
  const Machine& machine;
  const Table& table;
  Constants& constants;
  RangeCounts& ranges;
};

/// What is shared must outlive the program.
Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Shared& shared);

/// Runs a binding made by such a program. A node that meets numbers beyond DLFLOAT16 is counted.
/// Finite ones become the largest one, if the user has not chosen otherwise; where that is not
/// enough, or a result is beyond, the node is computed by its op's plain meaning.
Status run(Binding& binding, const RunArgs& args);

}  // namespace shunt::zdnn
