#include "lockstep/models/layers/added_losses.h"

#include <utility>

#include <lockstep/kernels/array/elementwise.h>

namespace lockstep {
namespace {

thread_local AddedLosses* innermost_losses = nullptr;

}  // namespace

AddedLosses::AddedLosses() : outer_(std::exchange(innermost_losses, this)) {}

AddedLosses::~AddedLosses() { innermost_losses = outer_; }

Tensor AddedLosses::share(std::int64_t examples, std::int64_t global_batch_size) const {
  if (!sum_.defined() || examples == 0) return {};
  return sum_ * (static_cast<double>(examples) / static_cast<double>(global_batch_size));
}

void AddedLosses::add(const Tensor& loss) {
  if (innermost_losses == nullptr) return;
  Tensor& sum = innermost_losses->sum_;
  sum = sum.defined() ? sum + loss : loss;
}

}  // namespace lockstep
