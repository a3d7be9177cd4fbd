#pragma once

#include <support/pretend_gpu/computing.h>

#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep::test {

/// Runs whole recurrent layers with plain loops, in place of cuDNN. Does not accept layers of one time step, so that
/// tests also cover layers that are composed of ops.
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
