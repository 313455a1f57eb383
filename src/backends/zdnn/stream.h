// The queue of work. The library's calls do their work before they return.
#pragma once

#include "backends/zdnn/program.h"
#include "device/sync_stream.h"

namespace shunt::zdnn {

class ZdnnStream final : public SyncStream {
 protected:
  Status run_now(Binding& binding, const RunArgs& args) override {
    return zdnn::run(binding, args);
  }
};

}  // namespace shunt::zdnn
