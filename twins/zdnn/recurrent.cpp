// LSTM and GRU, which the twin doesn't do: their functions are not in its answer to the query,
// either.
#include "call.h"

using zdnn_twin::enter;
using zdnn_twin::refuse;

extern "C" {

zdnn_status zdnn_lstm(const zdnn_ztensor*, const zdnn_ztensor*, const zdnn_ztensor*,
                      const zdnn_ztensor*, const zdnn_ztensor*, const zdnn_ztensor*,
                      const zdnn_ztensor*, lstm_gru_direction, void*, zdnn_ztensor*,
                      zdnn_ztensor*) {
  enter("zdnn_lstm");
  return refuse(ZDNN_UNAVAILABLE_FUNCTION, "the twin has no LSTMACT");
}

zdnn_status zdnn_gru(const zdnn_ztensor*, const zdnn_ztensor*, const zdnn_ztensor*,
                     const zdnn_ztensor*, const zdnn_ztensor*, const zdnn_ztensor*,
                     lstm_gru_direction, void*, zdnn_ztensor*) {
  enter("zdnn_gru");
  return refuse(ZDNN_UNAVAILABLE_FUNCTION, "the twin has no GRUACT");
}

}  // extern "C"
