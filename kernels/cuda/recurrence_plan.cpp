#include "lockstep/kernels/cuda/recurrence_plan.h"

#include <array>
#include <vector>

namespace lockstep::cudnn {
namespace {

/// The lengths of the sequences: null since cuDNN 8.9.1, which reads them from the descriptors of x and y.
constexpr const std::int32_t* lengths_on_gpu = nullptr;

int narrow(std::int64_t size) { return static_cast<int>(size); }

/// The numbers of rows and columns of a tensor (1, rows, columns); {0, 0} if cuDNN reports that there is no such
/// tensor.
std::array<std::int64_t, 2> matrix_size(const TensorDescriptor& descriptor) {
  constexpr int most = 8;
  std::array<int, most> sizes{};
  std::array<int, most> strides{};
  cudnnDataType_t type{};
  int rank = 0;
  check(cudnnGetTensorNdDescriptor(descriptor.get(), most, &type, &rank, sizes.data(), strides.data()),
        "cudnnGetTensorNdDescriptor");
  if (rank < 3) return {0, 0};
  return {sizes[1], sizes[2]};
}

std::int64_t elements_between(const Tensor& space, const void* address) {
  return static_cast<const float*>(address) - space.data<float>();
}

}  // namespace

RecurrencePlan::RecurrencePlan(const RecurrentLayer& layer)
    : layer_(layer),
      dropout_(made<DropoutDescriptor>(cudnnCreateDropoutDescriptor, "cudnnCreateDropoutDescriptor")),
      rnn_(made<RnnDescriptor>(cudnnCreateRNNDescriptor, "cudnnCreateRNNDescriptor")),
      x_(sequences(layer.features)),
      y_(sequences(layer.units)),
      states_(states()) {
  check(describe(CUDNN_RNN_ALGO_STANDARD), "cudnnSetRNNDescriptor_v8");
}

void RecurrencePlan::check(cudnnStatus_t status, const char* call) const {
  if (status != CUDNN_STATUS_SUCCESS) cudnn::check(status, call, text(layer_));
}

cudnnStatus_t RecurrencePlan::describe(cudnnRNNAlgo_t algorithm) const {
  // Keras' LSTM has one bias for each gate; cuDNN's second one, which its kernels for whole layers require, is 0.
  // Keras' GRU has two biases, as cuDNN's GRU: reset_after is cuDNN's formula.
  return cudnnSetRNNDescriptor_v8(rnn_.get(), algorithm, layer_.cell == RecurrentCell::lstm ? CUDNN_LSTM : CUDNN_GRU,
                                  CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                  CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, narrow(layer_.features), narrow(layer_.units),
                                  narrow(layer_.units), 1, dropout_.get(), CUDNN_RNN_PADDED_IO_DISABLED);
}

bool RecurrencePlan::takes_whole_layers(cudnnHandle_t handle) const {
  constexpr std::int64_t most_units = 384;
  // With whole-layer kernels a GRU's results are wrong (cuDNN 9.19, H200).
  if (layer_.cell != RecurrentCell::lstm || layer_.units > most_units) return false;
  std::size_t work = 0;
  std::size_t reserve = 0;
  return describe(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H) == CUDNN_STATUS_SUCCESS &&
         cudnnGetRNNTempSpaceSizes(handle, rnn_.get(), CUDNN_FWD_MODE_TRAINING, x_.get(), &work, &reserve) ==
             CUDNN_STATUS_SUCCESS;
}

SequenceDescriptor RecurrencePlan::sequences(std::int64_t vector_size) const {
  auto result = made<SequenceDescriptor>(cudnnCreateRNNDataDescriptor, "cudnnCreateRNNDataDescriptor");
  const std::vector<int> lengths(static_cast<std::size_t>(layer_.n), narrow(layer_.time));
  check(cudnnSetRNNDataDescriptor(result.get(), CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                  narrow(layer_.time), narrow(layer_.n), narrow(vector_size), lengths.data(), nullptr),
        "cudnnSetRNNDataDescriptor");
  return result;
}

TensorDescriptor RecurrencePlan::states() const {
  auto result = made<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  const int units = narrow(layer_.units);
  const std::array sizes{1, narrow(layer_.n), units};
  const std::array strides{narrow(layer_.n * layer_.units), units, 1};
  check(cudnnSetTensorNdDescriptor(result.get(), CUDNN_DATA_FLOAT, 3, sizes.data(), strides.data()),
        "cudnnSetTensorNdDescriptor");
  return result;
}

void RecurrencePlan::lay_out(cudnnHandle_t handle) {
  // cuDNN requires an initialized dropout descriptor even without dropout, and needs a handle to initialize it.
  check(cudnnSetDropoutDescriptor(dropout_.get(), handle, 0, nullptr, 0, 0), "cudnnSetDropoutDescriptor");
  if (!takes_whole_layers(handle)) check(describe(CUDNN_RNN_ALGO_STANDARD), "cudnnSetRNNDescriptor_v8");
  const auto signed_size = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes); };
  std::size_t bytes = 0;
  check(cudnnGetRNNWeightSpaceSize(handle, rnn_.get(), &bytes), "cudnnGetRNNWeightSpaceSize");
  weight_bytes_ = signed_size(bytes);
  std::size_t reserve = 0;
  check(cudnnGetRNNTempSpaceSizes(handle, rnn_.get(), CUDNN_FWD_MODE_INFERENCE, x_.get(), &bytes, &reserve),
        "cudnnGetRNNTempSpaceSizes");
  work_ = signed_size(bytes);
  check(cudnnGetRNNTempSpaceSizes(handle, rnn_.get(), CUDNN_FWD_MODE_TRAINING, x_.get(), &bytes, &reserve),
        "cudnnGetRNNTempSpaceSizes");
  trained_ = signed_size(bytes);
  reserve_bytes_ = signed_size(reserve);
  // cuDNN computes the weights' addresses from that of a weight space.
  const Tensor space = Tensor::empty({weight_bytes_ / std::int64_t{sizeof(float)}});
  for (std::int64_t number = 0; number < 2 * layer_.gates(); ++number)
    places_.push_back(place_of(handle, number, space));
}

LinearLayer RecurrencePlan::place_of(cudnnHandle_t handle, std::int64_t number, const Tensor& space) const {
  const auto matrix = made<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  const auto bias = made<TensorDescriptor>(cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  void* matrix_address = nullptr;
  void* bias_address = nullptr;
  check(cudnnGetRNNWeightParams(handle, rnn_.get(), 0, static_cast<std::size_t>(weight_bytes_), space.raw_data(),
                                narrow(number), matrix.get(), &matrix_address, bias.get(), &bias_address),
        "cudnnGetRNNWeightParams");
  const auto [rows, columns] = matrix_size(matrix);
  const std::int64_t biases = matrix_size(bias)[0];
  require<Unsupported>(rows == layer_.units && columns == inputs_of(layer_, number) && biases == layer_.units,
                       "cuDNN has a matrix ({}, {}) and {} biases as linear layer {} of the {}", rows, columns, biases,
                       number, text(layer_));
  return {elements_between(space, matrix_address), elements_between(space, bias_address)};
}

std::size_t RecurrencePlan::reserve_of(const Operands& operands) const {
  return operands.reserve == nullptr ? 0 : static_cast<std::size_t>(reserve_bytes_);
}

void RecurrencePlan::forward(cudnnHandle_t handle, const Operands& operands) const {
  const auto mode = operands.reserve == nullptr ? CUDNN_FWD_MODE_INFERENCE : CUDNN_FWD_MODE_TRAINING;
  if (contracts::checked()) check_contracts("cudnnRNNForward", operands, work_bytes(mode));
  check(cudnnRNNForward(handle, rnn_.get(), mode, lengths_on_gpu, x_.get(), operands.x, y_.get(), operands.y,
                        states_.get(), nullptr, nullptr, states_.get(), nullptr, nullptr,
                        static_cast<std::size_t>(weight_bytes_), operands.weights,
                        static_cast<std::size_t>(work_bytes(mode)), operands.work, reserve_of(operands),
                        operands.reserve),
        "cudnnRNNForward");
}

void RecurrencePlan::gradient_x(cudnnHandle_t handle, const Operands& operands, const void* dy, void* dx) const {
  if (contracts::checked()) {
    const std::int64_t steps = layer_.n * layer_.time;
    check_contracts("cudnnRNNBackwardData_v8", operands, trained_);
    check_operands("cudnnRNNBackwardData_v8",
                   {operand(dy, steps * layer_.units), operand(dx, steps * layer_.features)});
  }
  check(cudnnRNNBackwardData_v8(handle, rnn_.get(), lengths_on_gpu, y_.get(), operands.y, dy, x_.get(), dx,
                                states_.get(), nullptr, nullptr, nullptr, states_.get(), nullptr, nullptr, nullptr,
                                static_cast<std::size_t>(weight_bytes_), operands.weights,
                                static_cast<std::size_t>(trained_), operands.work, reserve_of(operands),
                                operands.reserve),
        "cudnnRNNBackwardData_v8");
}

void RecurrencePlan::gradient_weights(cudnnHandle_t handle, const Operands& operands) const {
  if (contracts::checked()) check_contracts("cudnnRNNBackwardWeights_v8", operands, trained_);
  check(cudnnRNNBackwardWeights_v8(
            handle, rnn_.get(), CUDNN_WGRAD_MODE_ADD, lengths_on_gpu, x_.get(), operands.x, states_.get(), nullptr,
            y_.get(), operands.y, static_cast<std::size_t>(weight_bytes_), operands.weights,
            static_cast<std::size_t>(trained_), operands.work, reserve_of(operands), operands.reserve),
        "cudnnRNNBackwardWeights_v8");
}

}  // namespace lockstep::cudnn
