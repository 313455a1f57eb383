/* ACLNN_OP(NAME, PARAMETERS...) declares the two phases of an operator. */
#ifndef ASCEND_TWIN_ACLNN_H
#define ASCEND_TWIN_ACLNN_H

#include "acl_types.h"

#define ACLNN_OP(name, ...)                                                                 \
  aclnnStatus aclnn##name##GetWorkspaceSize(__VA_ARGS__, uint64_t* workspaceSize,           \
                                            aclOpExecutor** executor);                      \
  aclnnStatus aclnn##name(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, \
                          aclrtStream stream);

#endif
