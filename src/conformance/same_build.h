// Whether libshunt_conformance and libshunt are of one build: they share internal types.
#pragma once

#include <string_view>

#include "shunt/message.h"

namespace shunt {

/// Invalid, with both tokens, unless they are equal. `own` is SHUNT_ABI_TOKEN as compiled into
/// libshunt_conformance; `library` is abi_token() of the libshunt that is loaded.
Status check_same_build(std::string_view own, std::string_view library);

}  // namespace shunt
