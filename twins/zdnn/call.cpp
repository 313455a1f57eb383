#include "call.h"

#include "counts.h"

void zdnn_twin::Answers::objected() {
  count(ZDNN_TWIN_OBJECTIONS);
}

const char* zdnn_twin_last_message(void) {
  return twin::last_message();
}
