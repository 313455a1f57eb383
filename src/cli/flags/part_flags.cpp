#include "cli/flags/part_flags.h"

#include "cli/flags/parse_units.h"
#include "shunt/message.h"

namespace shunt::cli {

Result<std::uint64_t> parse_part_size(const std::string& text) {
  SHUNT_ASSIGN(const std::uint64_t bytes, parse_bytes(text));
  if (bytes == 0) return invalid("a part has at least 1 byte");
  return bytes;
}

void declare_split(Arguments& arguments, std::optional<gguf::PartLimits>& parts) {
  arguments.value("--split", "SIZE",
                  "Write parts of at most this size, such as 4GiB, instead of one file: "
                  "NAME-00001-of-00003.gguf for NAME.gguf",
                  [&parts](const std::string& text) -> Status {
                    SHUNT_ASSIGN(const std::uint64_t bytes, parse_part_size(text));
                    parts = gguf::PartLimits{.bytes = bytes};
                    return ok();
                  });
}

}  // namespace shunt::cli
