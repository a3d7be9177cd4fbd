#include "lockstep/models/layers/gru.h"

#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/models/layers/recurrent.h>

namespace lockstep {

void GruOptions::describe(LayerConfig& config) { list_recurrent(config, *this); }

GRU::GRU(const GruOptions& options)
    : Layer(std::make_shared<RecurrentImpl<GruOptions>>(
          "GRU", RecurrentOps{gru, gru, gru, false}, 3,
          options.reset_after ? Shape{2, 3 * options.units} : Shape{3 * options.units}, options)) {}

}  // namespace lockstep
