#pragma once

#include <vector>

#include <lockstep/models/training/model.h>

namespace lockstep {

/// A model of layers one after the other, from one input to one output.
class Sequential : public Model {
 public:
  /// `input_shape` is without the batch axis. Throws InvalidArgument for no layers; see Network.
  Sequential(const Shape& input_shape, const std::vector<Layer>& layers,
             const ModelOptions& options = {.name = "sequential"});

 private:
  struct Ends;
  Sequential(const Ends& ends, const ModelOptions& options);
};

}  // namespace lockstep
