#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Whether x is on a GPU. Transforms compute on GPUs with ops and on the host with a loop; the results are
/// bit-identical.
inline bool is_on_gpu(const Tensor& x) { return x.device().kind == DeviceKind::gpu; }

/// A constant of row transforms: a tensor in host memory, and copies of it on GPUs, which here() makes when they are
/// needed. Copies of this object share these tensors. Thread-safe.
class DeviceConstant {
 public:
  /// Precondition: `host` is defined and in host memory.
  explicit DeviceConstant(const Tensor& host) : host_(host) {}

  /// The tensor in host memory.
  const Tensor& host() const { return host_; }
  /// The tensor where kernels of the thread's device can read it.
  Tensor here() const {
    const LogicalDevice& device = current_context().device;
    if (is_reachable(host_, device)) return host_;
    const std::lock_guard lock(copies_->mutex);
    const auto found =
        std::ranges::find_if(copies_->tensors, [&](const Tensor& copy) { return copy.device() == device; });
    return found != copies_->tensors.end() ? *found : copies_->tensors.emplace_back(to_device(host_, device));
  }

 private:
  struct Copies {
    std::mutex mutex{};
    std::vector<Tensor> tensors{};
  };

  Tensor host_;
  std::shared_ptr<Copies> copies_ = std::make_shared<Copies>();
};

}  // namespace lockstep
