#include "lockstep/models/libtorch/distribute.h"

namespace lockstep::libtorch {

torch::data::Example<> as_example(const Batch& part) {
  return {as_torch(part.x()), part.y().defined() ? as_torch(part.y()) : torch::Tensor()};
}

}  // namespace lockstep::libtorch
