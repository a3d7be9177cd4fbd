#include "lockstep/models/zoo/mlp.h"

#include <lockstep/models/layers/dense.h>

namespace lockstep::zoo {

Model mlp(const MlpOptions& options) {
  const Symbol input = Input({options.inputs});
  Symbol x = Dense({.units = options.hidden[0], .activation = Activation::tanh})(input);
  for (std::size_t layer = 1; layer < options.hidden.size(); ++layer)
    x = Dense({.units = options.hidden[layer], .activation = Activation::relu})(x);
  const Dense last =
      with_dtype_policy(DTypePolicy::float32, [] { return Dense({.units = 1, .activation = Activation::sigmoid}); });
  return {input, last(x), {.name = "mlp", .seed = options.seed}};
}

}  // namespace lockstep::zoo
