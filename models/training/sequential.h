#pragma once

#include <vector>

#include <lockstep/models/training/model.h>

namespace lockstep {

/// A model with one input and one output whose layers are called one after the other.
class Sequential : public Model {
 public:
  /// `input_shape` has no batch axis. Throws InvalidArgument if `layers` is empty or a layer has several results, and
  /// the errors of Model's constructor.
  Sequential(const Shape& input_shape, const std::vector<Layer>& layers,
             const ModelOptions& options = {.name = "sequential"});

 private:
  struct Ends;
  Sequential(const Ends& ends, const ModelOptions& options);
};

}  // namespace lockstep
