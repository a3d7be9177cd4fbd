#include <lockstep/kernels/backend.h>
#include <lockstep/strategy/core/distributed_variable.h>

namespace lockstep {

Tensor SyncOnReadVariable::read() const {
  require(spec().aggregation != Aggregation::none,
          "variable '{}' has a value of its own on each replica and no aggregation: read it inside run()", spec().name);
  const Tensor result = Tensor::empty(spec().shape);
  if (spec().aggregation == Aggregation::only_first_replica) {
    copy(copies().front(), result);
    return result;
  }
  std::vector<const float*> in;
  for (const Tensor& own : copies()) in.push_back(own.data<float>());
  float* const out = result.data<float>();
  const ReduceOp op = spec().aggregation == Aggregation::sum ? ReduceOp::sum : ReduceOp::mean;
  current_backend().reduce(op, {in, std::span(&out, 1), result.elements()});
  return result;
}

void SyncOnReadVariable::assign(const Tensor& value) {
  if (spec().aggregation != Aggregation::sum) return VariableState::assign(value);
  const Tensor share = Tensor::empty(value.shape());
  current_backend().affine(value, 1.0F / static_cast<float>(copies().size()), 0, share);
  VariableState::assign(share);
}

std::shared_ptr<VariableState> make_distributed_variable(VariableSpec spec, const std::vector<LogicalDevice>& devices) {
  if (spec.synchronization == Synchronization::on_read)
    return std::make_shared<SyncOnReadVariable>(std::move(spec), devices);
  return std::make_shared<VariableState>(std::move(spec), devices);
}

}  // namespace lockstep
