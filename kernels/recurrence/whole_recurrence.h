#pragma once

#include <compare>
#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Recurrent layers in one call for all time steps, on devices with a library for that.

namespace lockstep {

/// The kinds of recurrent layers, as lstm.h and gru.h say.
enum class RecurrentCell { lstm, gru };

/// The sizes of a recurrent layer and of its input x (n, time, features).
struct RecurrentLayer {
  RecurrentCell cell;  ///< the formula
  ///@{
  /// At least 1; n at least 0.
  std::int64_t n, time, features, units;
  ///@}

  /// Number of gates in a kernel.
  std::int64_t gates() const { return cell == RecurrentCell::lstm ? 4 : 3; }
  /// Compares all members.
  friend auto operator<=>(const RecurrentLayer&, const RecurrentLayer&) = default;
};

/// A layer's weights, or their gradients, in the shapes of lstm.h and gru.h; dense.
struct RecurrentWeights {
  ///@{
  /// As documented for the ops.
  Tensor kernel, recurrent_kernel, bias;
  ///@}
};

/// Runs recurrent layers as a whole. Tensors are dense f32 unless noted.
class WholeRecurrence {
 public:
  virtual ~WholeRecurrence() = default;

  /// Operands and results of a forward pass, for `gradient`.
  struct ForwardRecord {
    RecurrentLayer layer;      ///< the layer
    Tensor x;                  ///< its input
    RecurrentWeights weights;  ///< its weights
    Tensor y;                  ///< its result
    Tensor kept;               ///< what `run` returned; not modified
  };

  /// Whether it supports this layer; the ops compute other layers step by step.
  virtual bool runs(const RecurrentLayer& layer) const = 0;
  ///@{
  /// y (n, time, units) = h after each step. Returns what `gradient` needs, undefined unless `keep`. Where contracts
  /// are checked, both functions check all operands first, as kernels do (kernel.h).
  Tensor run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep, const Tensor& y);
  /// dx and dweights from dy (n, time, units); undefined ones are not written.
  void gradient(const ForwardRecord& record, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights);
  ///@}

 protected:
  ///@{
  /// Implement `run` and `gradient`.
  virtual Tensor forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                         const Tensor& y) = 0;
  virtual void backward(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                        const RecurrentWeights& dweights) = 0;
  ///@}
};

/// The implementation for the calling thread's device; null where the ops compute step by step.
WholeRecurrence* whole_recurrence();

}  // namespace lockstep
