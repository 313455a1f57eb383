// Handles of programs for single operators.
#pragma once

#include "ascend/counts.h"
#include "ascend/include/acl/acl_single_op.h"
#include "ascend/runtime/handles.h"
#include "ascend/single_ops/single_op.h"

struct aclTensorDesc {
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  ascend_twin::Shape shape;
  aclMemType placement = ACL_MEMTYPE_DEVICE;
  bool is_constant = false;  ///< aclSetTensorConst
  std::vector<std::byte> constant;
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_SINGLE_OP_OBJECTS> in_ledger;
};

struct aclDataBuffer {
  void* data = nullptr;
  std::size_t bytes = 0;
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_SINGLE_OP_OBJECTS> in_ledger;
};

struct aclopAttr {
  ascend_twin::Attributes values;
  ascend_twin::InLedger<ASCEND_TWIN_LIVE_SINGLE_OP_OBJECTS> in_ledger;
};

namespace ascend_twin {

struct SingleOpObjects {
  Handles<aclTensorDesc> descriptions;
  Handles<aclDataBuffer> buffers;
  Handles<aclopAttr> attributes;
};
SingleOpObjects& single_op_objects();

}  // namespace ascend_twin
