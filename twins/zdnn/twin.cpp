// Settings at run time (zdnn_twin.h).
#include "include/zdnn_twin.h"
#include "settings.h"

bool zdnn_twin_set(const char* name, const char* value) {
  return zdnn_twin::settings().set(name, value);
}

void zdnn_twin_reset_settings(void) {
  zdnn_twin::settings().read_environment();
}
