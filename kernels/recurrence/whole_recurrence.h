#pragma once

#include <compare>
#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Recurrent layers over all steps at once, where a device has a library for that.

namespace lockstep {

/// The kinds of recurrent layers, as lstm.h and gru.h say.
enum class RecurrentCell { lstm, gru };

/// A recurrent layer and what it is run on: x (n, time, features).
struct RecurrentLayer {
  RecurrentCell cell;  ///< the formula
  ///@{
  /// Sizes, at least 1 but for n.
  std::int64_t n, time, features, units;
  ///@}

  /// Gates that a kernel has side by side.
  std::int64_t gates() const { return cell == RecurrentCell::lstm ? 4 : 3; }
  /// By all of it.
  friend auto operator<=>(const RecurrentLayer&, const RecurrentLayer&) = default;
};

/// A layer's weights, or their gradients, in the shapes of lstm.h and gru.h; dense.
struct RecurrentWeights {
  ///@{
  /// As the ops take them.
  Tensor kernel, recurrent_kernel, bias;
  ///@}
};

/// What runs recurrent layers as a whole. Tensors are dense f32 unless said.
class WholeRecurrence {
 public:
  virtual ~WholeRecurrence() = default;

  /// What a layer was run on and what came of it.
  struct ForwardRecord {
    RecurrentLayer layer;      ///< the layer
    Tensor x;                  ///< its input
    RecurrentWeights weights;  ///< its weights
    Tensor y;                  ///< its result
    Tensor kept;               ///< what `run` returned; left as it is
  };

  /// Whether it takes this layer; the ops take others a step at a time.
  virtual bool runs(const RecurrentLayer& layer) const = 0;
  ///@{
  /// Where contracts are checked, all operands are checked first, as those of a kernel (kernel.h).
  /// y (n, time, units) = h after each step. Returns what `gradient` needs, undefined unless `keep`.
  Tensor run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep, const Tensor& y);
  /// dx and dweights from dy (n, time, units); those that are undefined are not wanted.
  void gradient(const ForwardRecord& record, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights);
  ///@}

 protected:
  ///@{
  /// What `run` and `gradient` do.
  virtual Tensor forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                         const Tensor& y) = 0;
  virtual void backward(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                        const RecurrentWeights& dweights) = 0;
  ///@}
};

/// What runs recurrent layers as a whole on the calling thread's device; null where the ops take a step at a time.
WholeRecurrence* whole_recurrence();

}  // namespace lockstep
