#include "backends/zdnn/options.h"

#include <array>

#include "device/backend_options.h"

namespace shunt::zdnn {

namespace {

Status check_out_of_range(std::string_view text) {
  return check_word(text, {"saturate", "exact"});
}

constexpr std::array kOptions = {
    BackendOption{"out_of_range",
                  "saturate numbers outside the range of DLFLOAT16, or compute those ops on the "
                  "host: saturate, exact",
                  check_out_of_range, "saturate", "SHUNT_OUT_OF_RANGE"},
};

}  // namespace

std::span<const BackendOption> option_table() {
  return kOptions;
}

OutOfRange parse_out_of_range(const Options& options) {
  return backend_option(options, "zdnn", "out_of_range") == "exact" ? OutOfRange::kExact
                                                                    : OutOfRange::kSaturate;
}

}  // namespace shunt::zdnn
