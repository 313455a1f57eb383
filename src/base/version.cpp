#include "shunt/version.h"

namespace shunt {

const char* version() {
  return SHUNT_VERSION;
}

}  // namespace shunt
