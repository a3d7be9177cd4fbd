#include "lockstep/runtime/data/example.h"

#include <algorithm>

namespace lockstep {
namespace {

const Tensor& first_of(const std::vector<Tensor>& tensors) {
  static const Tensor none;
  return tensors.empty() ? none : tensors.front();
}

std::vector<Tensor> with_first(std::vector<Tensor> tensors, const Tensor& first) {
  tensors.resize(std::max<std::size_t>(1, tensors.size()));
  tensors.front() = first;
  return tensors;
}

}  // namespace

const Tensor& Example::x() const { return first_of(inputs); }

const Tensor& Example::y() const { return first_of(targets); }

const Tensor& Example::sample_weight(std::size_t output) const {
  return sample_weights.size() > 1 ? sample_weights[output] : first_of(sample_weights);
}

Example Example::with_x(const Tensor& other) const { return {with_first(inputs, other), targets, sample_weights}; }

Example Example::with_y(const Tensor& other) const { return {inputs, with_first(targets, other), sample_weights}; }

}  // namespace lockstep
