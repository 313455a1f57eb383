// A program's first queries: is the machine there, which functions does it have, which versions
// fit.
#include <cstdarg>

#include "machine.h"
#include "settings.h"

using zdnn_twin::function_installed;
using zdnn_twin::kLibraryVersion;
using zdnn_twin::machine;

extern "C" {

void zdnn_init(void) {
  zdnn_twin::settings().read_environment();
}

bool zdnn_is_nnpa_installed(void) {
  return machine().installed;
}

bool zdnn_is_nnpa_function_installed(int count, ...) {
  std::va_list codes;
  va_start(codes, count);
  bool all = true;
  for (int i = 0; i < count; ++i) all = function_installed(va_arg(codes, unsigned)) && all;
  va_end(codes);
  return all && machine().installed;
}

bool zdnn_is_nnpa_parmblk_fmt_installed(int count, ...) {
  std::va_list formats;
  va_start(formats, count);
  bool all = true;
  for (int i = 0; i < count; ++i) {
    const unsigned format = va_arg(formats, unsigned);
    all = format <= 1 && machine().formats[format] && all;
  }
  va_end(formats);
  return all && machine().installed;
}

bool zdnn_is_nnpa_datatype_installed(uint16_t types_bitmask) {
  return machine().installed && (types_bitmask & ~machine().data_types) == 0;
}

bool zdnn_is_nnpa_layout_fmt_installed(uint32_t layout_bitmask) {
  return machine().installed && (layout_bitmask & ~machine().layouts) == 0;
}

bool zdnn_is_nnpa_conversion_installed(nnpa_data_type type, uint16_t format_bitmask) {
  return machine().installed && type == NNPA_DATATYPE_1 &&
         (format_bitmask & ~machine().conversions) == 0;
}

uint32_t zdnn_get_nnpa_max_dim_idx_size(void) {
  return machine().max_dim_idx_size;
}

uint32_t zdnn_get_max_for_dim(uint8_t dimension) {
  return dimension >= 1 && dimension <= 4 ? zdnn_twin::max_for_dim(dimension) : 0;
}

uint64_t zdnn_get_nnpa_max_tensor_size(void) {
  return machine().max_tensor_size;
}

zdnn_status zdnn_refresh_nnpa_query_result(void) {
  return machine().installed ? ZDNN_OK : ZDNN_UNAVAILABLE_FUNCTION;
}

uint32_t zdnn_get_max_runnable_version(void) {
  if (!machine().installed) return 0;
  const uint32_t library = kLibraryVersion & 0xFFFFFF00;
  return (library < machine().api_version ? library : machine().api_version) | 0xFF;
}

bool zdnn_is_version_runnable(uint32_t ver_num) {
  // The same major version, and no newer minor one; the patch is of no account.
  const uint32_t most = zdnn_get_max_runnable_version();
  return most != 0 && ver_num >> 16 == most >> 16 && (ver_num & 0xFF00) <= (most & 0xFF00);
}

uint32_t zdnn_get_library_version(void) {
  return kLibraryVersion;
}

char* zdnn_get_library_version_str(void) {
  return const_cast<char*>(zdnn_twin::kLibraryVersionText);
}

}  // extern "C"

namespace {
// The vendor's library does so, too, as soon as it is opened.
[[maybe_unused]] const bool initialised = (zdnn_init(), true);
}  // namespace
