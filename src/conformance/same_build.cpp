#include "conformance/same_build.h"

namespace shunt {

Status check_same_build(std::string_view own, std::string_view library) {
  if (own == library) return ok();
  return invalid(
      "libshunt_conformance and libshunt are of different builds: the token of the first is "
      "\"{}\", of the second \"{}\"",
      own, library);
}

}  // namespace shunt
