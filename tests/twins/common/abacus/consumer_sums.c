/* A second program in C for tools/prove-twin. */
#ifdef CONSUMER_VENDOR_HEADER
#include <abacus.h>
#else
#include <abacus_twin.h>
#endif

int main(void) {
  uint64_t sum = 0;
  return abacus_sum(8, &sum) != ABACUS_OK || sum != 36;
}
