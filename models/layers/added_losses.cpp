#include "lockstep/models/layers/added_losses.h"

#include <utility>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/runtime/autograd/repeated_values.h>

namespace lockstep {
namespace {

thread_local AddedLosses* innermost_losses = nullptr;

}  // namespace

AddedLosses::AddedLosses() : depth_(recomputing_depth()), outer_(std::exchange(innermost_losses, this)) {}

AddedLosses::~AddedLosses() { innermost_losses = outer_; }

Tensor AddedLosses::sum() const {
  Tensor sum;
  for (const Tensor& loss : losses_) sum = sum.defined() ? sum + loss : loss;
  return sum;
}

Tensor AddedLosses::share(std::int64_t examples, std::int64_t global_batch_size) const {
  if (losses_.empty() || examples == 0) return {};
  return sum() * (static_cast<double>(examples) / static_cast<double>(global_batch_size));
}

bool AddedLosses::are_collected() { return innermost_losses != nullptr; }

void AddedLosses::add(const Tensor& loss) {
  if (innermost_losses == nullptr || recomputing_depth() > innermost_losses->depth_) return;
  innermost_losses->losses_.push_back(loss);
}

}  // namespace lockstep
