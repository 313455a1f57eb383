#include "shunt/message.h"

namespace shunt {

Error vfail(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  return Error(code, fmt::vformat(format, args));
}

}  // namespace shunt
