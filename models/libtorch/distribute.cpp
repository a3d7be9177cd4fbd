#include "lockstep/models/libtorch/distribute.h"

namespace lockstep::libtorch {

torch::data::Example<> as_example(const Batch& part) { return {as_torch(part.x()), as_torch(part.y())}; }

}  // namespace lockstep::libtorch
