#include <utility>

#include <fmt/core.h>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

void LayerImpl::build(std::span<const Shape> inputs, const LayerSeed& seed) {
  require<LogicError>(!built_, "layer '{}' has been built already", name_);
  make_weights(inputs, seed);
  built_ = true;
}

void LayerImpl::set_draws(std::span<const std::uint64_t> draws) {
  require(draws.empty(), "layer '{}' draws no random numbers, got {} counts of them", name_, draws.size());
}

std::int64_t LayerImpl::count_params() const {
  std::int64_t count = 0;
  for (const Variable& variable : variables_) count += variable.shape().elements();
  return count;
}

Variable LayerImpl::add_weight(VariableSpec spec) {
  spec.name = fmt::format("{}/{}", name_, spec.name);
  return variables_.emplace_back(std::move(spec));
}

}  // namespace lockstep
