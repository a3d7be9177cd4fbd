#pragma once

#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep {

/// Recurrent layers on cuDNN.
class CudnnRecurrence final : public WholeRecurrence {
 public:
  bool runs(const RecurrentLayer& layer) const override;

 protected:
  Tensor forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                 const Tensor& y) override;
  void backward(const Ran& ran, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights) override;
};

}  // namespace lockstep
