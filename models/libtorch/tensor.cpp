#include "lockstep/models/libtorch/tensor.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::libtorch {
namespace {

constexpr std::pair<DType, torch::ScalarType> dtypes[] = {{DType::f32, torch::kFloat}, {DType::bf16, torch::kBFloat16},
                                                          {DType::i32, torch::kInt},   {DType::i64, torch::kLong},
                                                          {DType::u8, torch::kByte},   {DType::boolean, torch::kBool}};

}  // namespace

torch::Tensor as_torch(const Tensor& tensor) {
  const std::vector<std::int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
  const std::vector<std::int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  const auto* const dtype = std::ranges::find(dtypes, tensor.dtype(), &std::pair<DType, torch::ScalarType>::first);
  return torch::from_blob(
      tensor.raw_data(), sizes, strides, [tensor](void* /*memory*/) {}, torch::TensorOptions(dtype->second));
}

Tensor from_torch(const torch::Tensor& tensor) {
  const std::optional<DType> dtype = dtype_of(tensor.scalar_type());
  require<Unsupported>(dtype.has_value(),
                       "lockstep has no tensors of {}; it has Float, BFloat16, Int, Long, Byte and Bool",
                       torch::toString(tensor.scalar_type()));
  const LogicalDevice host;
  const Tensor copy = Tensor::empty(shape_of(tensor), *dtype, host);
  const torch::NoGradGuard no_grad;
  as_torch(copy).copy_(tensor);
  return copy;
}

Shape shape_of(const torch::Tensor& tensor) {
  Shape shape;
  for (const std::int64_t size : tensor.sizes()) shape.push_back(size);
  return shape;
}

std::optional<DType> dtype_of(torch::ScalarType type) {
  const auto* const dtype = std::ranges::find(dtypes, type, &std::pair<DType, torch::ScalarType>::second);
  return dtype == std::end(dtypes) ? std::nullopt : std::optional(dtype->first);
}

}  // namespace lockstep::libtorch
