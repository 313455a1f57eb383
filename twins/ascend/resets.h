// Objects that ascend_twin_reset() drops, each by the file that keeps them.
#pragma once

namespace ascend_twin {

/// A global of this type: its function is called by every reset, after all streams ended.
struct AtReset {
  explicit AtReset(void (*drop)());
};
void drop_registered();

}  // namespace ascend_twin
