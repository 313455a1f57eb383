// The descriptors that programs hold: tensors, scalars, arrays and lists.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ascend/counts.h"
#include "ascend/include/acl/acl_types.h"
#include "ascend/runtime/handles.h"
#include "ascend/tensors/view.h"

struct aclTensor {
  ascend_twin::View view;
  bool in_list = false;  ///< a list owns it: destroying it alone is a mistake
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_TENSORS> in_ledger;
};

struct aclScalar {
  bool in_list = false;
  aclDataType type = ACL_DT_UNDEFINED;
  double real = 0;
  std::int64_t integer = 0;  ///< exact where `real` is not
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_SCALARS> in_ledger;
};

struct aclIntArray {
  std::vector<std::int64_t> values;
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_SCALARS> in_ledger;
};
struct aclFloatArray {
  std::vector<float> values;
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_SCALARS> in_ledger;
};
struct aclBoolArray {
  std::vector<bool> values;
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_SCALARS> in_ledger;
};

struct aclTensorList {
  std::vector<std::shared_ptr<aclTensor>> members;  ///< owned
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_LISTS> in_ledger;
};

struct aclScalarList {
  std::vector<std::shared_ptr<aclScalar>> members;  ///< owned
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_LISTS> in_ledger;
};

namespace ascend_twin {

/// Live descriptors: one that was destroyed is not found.
struct Descriptors {
  Handles<aclTensor> tensors;
  Handles<aclScalar> scalars;
  Handles<aclIntArray> int_arrays;
  Handles<aclFloatArray> float_arrays;
  Handles<aclBoolArray> bool_arrays;
  Handles<aclTensorList> tensor_lists;
  Handles<aclScalarList> scalar_lists;
};
Descriptors& descriptors();

}  // namespace ascend_twin
