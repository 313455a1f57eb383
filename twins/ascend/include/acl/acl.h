/* Everything that the twin declares of the vendor's interface. */
#ifndef ASCEND_TWIN_ACL_H
#define ASCEND_TWIN_ACL_H

#include "acl_capture.h"
#include "acl_runtime.h"
#include "acl_single_op.h"
#include "acl_tensor.h"
#include "aclnn_attention.h"
#include "aclnn_elementwise.h"
#include "aclnn_index.h"
#include "aclnn_products.h"

#endif
