// Compiled for each of the two libraries, with ABACUS_TWIN_1 or without.
#include "include/abacus.h"

const char* abacus_version(void) {
#ifdef ABACUS_TWIN_1
  return "1-twin";
#else
  return "2-twin";
#endif
}
