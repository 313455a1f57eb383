/* What somebody with a program in C has of the twin: its headers, its libraries, and right sums.
 * The version that the libraries should say they are comes as an argument. tools/prove-twin
 * compiles and runs it against what was installed. */
#include <acl/acl.h>
#include <ascend_twin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As programs made for the vendor's libraries have them in memory. */
_Static_assert(sizeof(aclError) == 4, "aclError");
_Static_assert(sizeof(aclnnStatus) == 4, "aclnnStatus");
_Static_assert(sizeof(aclDataType) == 4, "aclDataType");
_Static_assert(sizeof(aclFormat) == 4, "aclFormat");
_Static_assert(sizeof(aclrtMemcpyKind) == 4, "aclrtMemcpyKind");
_Static_assert(sizeof(aclrtStream) == sizeof(void*), "aclrtStream");

static void check(int code, const char* what) {
  if (code == ACL_SUCCESS) return;
  fprintf(stderr, "%s: %d: %s\n", what, code, ascend_twin_last_message());
  exit(1);
}

static aclTensor* vector_of(void* data) { /* of 3 numbers */
  const int64_t shape[] = {3};
  return aclCreateTensor(shape, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 1, data);
}

int main(int count, char** arguments) {
  const float a[] = {1, 2, -3}, b[] = {10, 0.5f, 100}, expected[] = {21, 3, 197};
  float alpha = 2, got[3] = {-1, -1, -1};
  void *left = NULL, *right = NULL, *workspace = NULL;
  uint64_t bytes = 0;
  aclOpExecutor* executor = NULL;
  aclrtStream stream = NULL;

  if (count != 2 || strcmp(ascend_twin_version(), arguments[1]) != 0) {
    fprintf(stderr, "it says that it is version %s\n", ascend_twin_version());
    return 1;
  }
  check(aclInit(NULL), "initialise");
  check(aclrtSetDevice(0), "device");
  if (aclrtGetSocName() == NULL || strncmp(aclrtGetSocName(), "Ascend", 6) != 0) return 1;
  check(aclrtCreateStream(&stream), "stream");
  check(aclrtMalloc(&left, sizeof a, ACL_MEM_MALLOC_HUGE_FIRST), "memory");
  check(aclrtMalloc(&right, sizeof b, ACL_MEM_MALLOC_HUGE_FIRST), "memory");
  check(aclrtMemcpy(left, sizeof a, a, sizeof a, ACL_MEMCPY_HOST_TO_DEVICE), "copy");
  check(aclrtMemcpy(right, sizeof b, b, sizeof b, ACL_MEMCPY_HOST_TO_DEVICE), "copy");

  aclTensor* const self = vector_of(left);
  aclTensor* const other = vector_of(right);
  aclScalar* const scalar = aclCreateScalar(&alpha, ACL_FLOAT);
  check(aclnnAddGetWorkspaceSize(self, other, scalar, self, &bytes, &executor), "first phase");
  if (bytes != 0) check(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "workspace");
  check(aclnnAdd(workspace, bytes, executor, stream), "second phase");
  check(aclrtSynchronizeStream(stream), "wait");
  check(aclrtMemcpy(got, sizeof got, left, sizeof got, ACL_MEMCPY_DEVICE_TO_HOST), "copy back");
  for (int i = 0; i < 3; ++i) {
    if (got[i] != expected[i]) {
      fprintf(stderr, "%g + 2 * %g = %g\n", a[i], b[i], got[i]);
      return 1;
    }
  }

  check(aclDestroyTensor(self), "destroy");
  check(aclDestroyTensor(other), "destroy");
  check(aclDestroyScalar(scalar), "destroy");
  if (workspace != NULL) check(aclrtFree(workspace), "free");
  check(aclrtFree(left), "free");
  check(aclrtFree(right), "free");
  check(aclrtDestroyStream(stream), "destroy");
  check(aclrtResetDevice(0), "reset");
  check(aclFinalize(), "finalise");
  return ascend_twin_count_live(ASCEND_TWIN_LIVE_DEVICE_BYTES) != 0;
}
