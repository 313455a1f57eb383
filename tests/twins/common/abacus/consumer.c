/* A program in C, which tools/prove-twin compiles with the installed headers. */
#ifdef CONSUMER_VENDOR_HEADER
#include <abacus.h>
#else
#include <abacus_twin.h>
#endif
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
  int32_t sum = 0;
  if (count != 2 || strcmp(abacus_version(), arguments[1]) != 0) {
    fprintf(stderr, "the version is %s\n", abacus_version());
    return 1;
  }
  return abacus_add(2, 40, &sum) != ABACUS_OK || sum != 42;
}
