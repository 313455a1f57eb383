// The queue of work. An asynchronous device derives Stream itself and enqueues with its vendor's
// library; one without asynchrony derives SyncStream and says how it runs a binding.
#pragma once

#include "device/sync_stream.h"

namespace shunt::null {

class NullStream final : public SyncStream {
 protected:
  Status run_now(Binding& binding, const RunArgs& args) override;
};

}  // namespace shunt::null
