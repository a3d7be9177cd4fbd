#pragma once

#include <lockstep/kernels/whole_recurrence.h>

namespace lockstep::test {

/// Whole recurrent layers by plain loops, in place of the library that GPUs have. Leaves layers of one step to the ops,
/// so that tests see both ways.
class PretendGpuRecurrence final : public WholeRecurrence {
 public:
  bool runs(const RecurrentLayer& layer) const override { return layer.n > 0 && layer.time > 1; }
  Tensor run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
             const Tensor& y) override;
  void gradient(const Ran& ran, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights) override;
};

}  // namespace lockstep::test
