#pragma once

#include <support/pretend_gpu/computing.h>

#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep::test {

/// Runs whole recurrent layers by plain loops, in place of a GPU's library. Leaves layers of one step to the ops, so
/// that tests cover both paths.
class PretendGpuRecurrence final : public WholeRecurrence {
 public:
  explicit PretendGpuRecurrence(PretendGpuComputing& gpus) : gpus_(gpus) {}
  bool runs(const RecurrentLayer& layer) const override { return layer.n > 0 && layer.time > 1; }

 protected:
  Tensor forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                 const Tensor& y) override;
  void backward(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                const RecurrentWeights& dweights) override;

 private:
  PretendGpuComputing& gpus_;
};

}  // namespace lockstep::test
