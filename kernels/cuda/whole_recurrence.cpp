// Recurrent layers on cuDNN. Weights are copied between Keras' matrices and cuDNN's weight space on each call.

#include <limits>

#include <lockstep/kernels/cuda/cudnn_handle.h>
#include <lockstep/kernels/cuda/known_plans.h>
#include <lockstep/kernels/cuda/operands.h>
#include <lockstep/kernels/cuda/recurrence_plan.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/recurrence/cudnn_recurrence.h>
#include <lockstep/kernels/recurrence/whole_recurrence.h>

namespace lockstep {
namespace {

using cudnn::RecurrencePlan;

/// The calling thread's plan for the layer on a physical GPU.
const RecurrencePlan& plan_of(const RecurrentLayer& layer, const Gpu& gpu) {
  thread_local KnownPlans<RecurrentLayer, RecurrencePlan> plans(256);
  return plans.get(gpu.ordinal(), layer, [&] {
    RecurrencePlan plan(layer);
    plan.lay_out(cudnn::handle_of(gpu));
    return plan;
  });
}

Tensor bytes(std::int64_t size) { return Tensor::empty({size}, DType::u8); }

Tensor weight_space(const RecurrencePlan& plan) {
  return Tensor::empty({plan.weight_bytes() / std::int64_t{sizeof(float)}});
}

Tensor packed(const RecurrencePlan& plan, const RecurrentLayer& layer, const RecurrentWeights& weights) {
  const Tensor space = weight_space(plan);
  cudnn::pack(layer, plan.places(), weights, space);
  return space;
}

/// A reserve space that cuDNN may modify: that of the forward pass, unless another tape has recorded the layer, too.
Tensor own_reserve(const Tensor& kept) {
  if (kept.unique()) return kept;
  Tensor reserve = bytes(kept.elements());
  copy(kept, reserve);
  return reserve;
}

class CudnnRecurrence final : public WholeRecurrence {
 public:
  bool runs(const RecurrentLayer& layer) const override;

 protected:
  Tensor forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                 const Tensor& y) override;
  void backward(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                const RecurrentWeights& dweights) override;
};

bool CudnnRecurrence::runs(const RecurrentLayer& layer) const {
  // cuDNN takes sizes as int, among them the size of a step's gates.
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return layer.n > 0 && layer.time <= RecurrencePlan::longest && layer.features <= most &&
         layer.units <= most / layer.gates() / layer.n;
}

Tensor CudnnRecurrence::forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights,
                                bool keep, const Tensor& y) {
  const Gpu& gpu = current_gpu();
  const RecurrencePlan& plan = plan_of(layer, gpu);
  const Tensor input = aligned(x);
  const Tensor space = packed(plan, layer, weights);
  const Tensor work = bytes(plan.work_bytes(keep ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE));
  const Tensor reserve = keep ? bytes(plan.reserve_bytes()) : Tensor();
  const LibraryResult result(y);
  plan.forward(cudnn::handle_of(gpu), {.x = input.raw_data(),
                                       .y = result.tensor().raw_data(),
                                       .weights = space.raw_data(),
                                       .work = work.raw_data(),
                                       .reserve = keep ? reserve.raw_data() : nullptr});
  result.finish();
  return reserve;
}

void CudnnRecurrence::backward(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                               const RecurrentWeights& dweights) {
  const Gpu& gpu = current_gpu();
  const RecurrencePlan& plan = plan_of(record.layer, gpu);
  const cudnnHandle_t handle = cudnn::handle_of(gpu);
  const Tensor space = packed(plan, record.layer, record.weights);
  const Tensor work = bytes(plan.work_bytes(CUDNN_FWD_MODE_TRAINING));
  const Tensor reserve = own_reserve(record.kept);
  const Tensor x = aligned(record.x);
  const Tensor y = aligned(record.y);
  const Tensor gradient = aligned(dy);
  const LibraryResult result(dx.defined() ? dx : Tensor::empty(x.shape()));
  RecurrencePlan::Operands operands{.x = x.raw_data(),
                                    .y = y.raw_data(),
                                    .weights = space.raw_data(),
                                    .work = work.raw_data(),
                                    .reserve = reserve.raw_data()};
  plan.gradient_x(handle, operands, gradient.raw_data(), result.tensor().raw_data());
  result.finish();
  if (!dweights.kernel.defined() && !dweights.recurrent_kernel.defined() && !dweights.bias.defined()) return;
  const Tensor sums = weight_space(plan);
  launch(kernels::Fill{sums, 0});
  operands.weights = sums.raw_data();
  plan.gradient_weights(handle, operands);
  cudnn::unpack(record.layer, plan.places(), sums, dweights);
}

}  // namespace

WholeRecurrence& cudnn_recurrence() {
  static CudnnRecurrence recurrence;
  return recurrence;
}

}  // namespace lockstep
