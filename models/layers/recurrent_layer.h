#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Whether calls of layers of this class can have initial states (`initial_state` in files).
inline bool is_recurrent(std::string_view class_name) {
  return class_name == "LSTM" || class_name == "GRU" || class_name == "SimpleRNN" || class_name == "Bidirectional";
}

/// The interface through which Bidirectional uses a recurrent layer.
class RecurrentLayerImpl : public LayerImpl {
 public:
  ///@{
  /// Keras' options with the same names.
  virtual bool go_backwards() const = 0;
  virtual bool return_sequences() const = 0;
  virtual bool return_state() const = 0;
  virtual bool stateful() const = 0;
  ///@}
  /// See reset_states below.
  virtual void reset_states() = 0;
  /// Number of states: 2 for an LSTM, else 1.
  virtual int states() const = 0;
  /// A new layer, not built, with the same options except name and direction. As in Keras, zero_output_for_mask of the
  /// copy is the value of return_sequences.
  virtual std::shared_ptr<RecurrentLayerImpl> copy(std::string name, bool go_backwards) const = 0;

 protected:
  using LayerImpl::LayerImpl;
};

/// Whether the layer or a layer inside it is `stateful`: starts a batch from the last states of the batch before.
/// Before the layer is built, the layers inside it are unknown and not considered.
inline bool is_stateful(const LayerImpl& layer) {
  if (const auto* const recurrent = dynamic_cast<const RecurrentLayerImpl*>(&layer)) return recurrent->stateful();
  return std::ranges::any_of(layer.inner_layers(), [](const InnerLayer& inner) { return is_stateful(*inner.layer); });
}

/// Keras' reset_states: the next batch of the layer, and of the layers inside it, starts from states of 0 and may have
/// another size. Call it outside replicas.
inline void reset_states(LayerImpl& layer) {
  if (auto* const recurrent = dynamic_cast<RecurrentLayerImpl*>(&layer)) recurrent->reset_states();
  for (const InnerLayer& inner : layer.inner_layers()) reset_states(*inner.layer);
}

}  // namespace lockstep
