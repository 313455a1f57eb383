/* What somebody with a program in C has of the twin: its header, its library, and right sums. The
 * version that the library should say it is comes as an argument. tools/prove-twin compiles and
 * runs it against what was installed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zdnn_twin.h>

/* As programs made for the vendor's library have them in memory. */
_Static_assert(sizeof(zdnn_status) == 4, "zdnn_status");
_Static_assert(sizeof(zdnn_tensor_desc) == 28, "zdnn_tensor_desc");
_Static_assert(sizeof(zdnn_ztensor) == 64, "zdnn_ztensor");

typedef struct matrix {
  zdnn_tensor_desc host, machine;
  zdnn_ztensor tensor;
} matrix;

static void check(zdnn_status status, const char* what) {
  if (status == ZDNN_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, zdnn_get_status_message(status), zdnn_twin_last_message());
  exit(1);
}

static void make(matrix* m) { /* of 2 rows and 3 columns */
  zdnn_init_pre_transformed_desc(ZDNN_2D, FP32, &m->host, 2u, 3u);
  check(zdnn_generate_transformed_desc(&m->host, &m->machine), "descriptor");
  check(zdnn_init_ztensor_with_malloc(&m->host, &m->machine, &m->tensor), "tensor");
}

int main(int count, char** arguments) {
  const float a[] = {1, 2, 3, -4, 0.5f, 100}, b[] = {10, 20, 30, 40, 0.25f, -100};
  const float expected[] = {11, 22, 33, 36, 0.75f, 0};
  float got[6] = {-1, -1, -1, -1, -1, -1};
  matrix left, right, sum;

  zdnn_init();
  if (count != 2 || strcmp(zdnn_get_library_version_str(), arguments[1]) != 0) {
    fprintf(stderr, "it says that it is version %s\n", zdnn_get_library_version_str());
    return 1;
  }
  make(&left);
  make(&right);
  make(&sum);
  check(zdnn_transform_ztensor(&left.tensor, a), "transform");
  check(zdnn_transform_ztensor(&right.tensor, b), "transform");
  check(zdnn_add(&left.tensor, &right.tensor, &sum.tensor), "add");
  check(zdnn_transform_origtensor(&sum.tensor, got), "transform back");
  for (int i = 0; i < 6; ++i) {
    if (got[i] != expected[i]) {
      fprintf(stderr, "%g + %g = %g\n", a[i], b[i], got[i]);
      return 1;
    }
  }
  check(zdnn_free_ztensor_buffer(&left.tensor), "free");
  check(zdnn_free_ztensor_buffer(&right.tensor), "free");
  check(zdnn_free_ztensor_buffer(&sum.tensor), "free");
  return 0;
}
