// Compiled once for each of the two libraries, with ZDNN_TWIN_1_0 or without.
#include "machine.h"

namespace zdnn_twin {

#ifdef ZDNN_TWIN_1_0
const std::uint32_t kLibraryVersion = 0x00010001;
const char kLibraryVersionText[] = "1.0.1-twin";
#else
const std::uint32_t kLibraryVersion = ZDNN_VERNUM;
const char kLibraryVersionText[] = ZDNN_VERSION "-twin";
#endif

}  // namespace zdnn_twin
