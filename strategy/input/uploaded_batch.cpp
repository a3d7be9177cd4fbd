#include "lockstep/strategy/input/uploaded_batch.h"

#include <vector>

#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/memory/uploads.h>

namespace lockstep {

UploadedBatch::UploadedBatch(const Batch& host, const LogicalDevice& gpu) : gpu_(gpu) {
  const ContextScope there(context_on(gpu));  // so that errors name the GPU
  std::vector<Tensor> sources;                // keeps dense copies until they have been uploaded
  std::vector<Upload> copies;
  batch_ = host.each([&](const Tensor& tensor) {
    if (tensor.device().kind == DeviceKind::gpu) return reachable_from(gpu, tensor);
    {
      const ContextScope here(context_on(tensor.device()));
      sources.push_back(make_dense(tensor));
    }
    const Tensor arrived = Tensor::empty(tensor.shape(), tensor.dtype(), gpu);
    const auto bytes = static_cast<std::size_t>(tensor.elements()) * size_of(tensor.dtype());
    if (bytes > 0) copies.push_back({arrived.raw_data(), sources.back().raw_data(), bytes});
    return arrived;
  });
  if (!copies.empty()) arrival_ = uploads(gpu).begin(copies);
}

UploadedBatch::~UploadedBatch() {
  try {
    await();
  } catch (const Error& error) {  // only if the GPU has failed
    log_warning("waiting for the copy of a batch to a GPU failed: {}", error.what());
  }
}

void UploadedBatch::await() const {
  if (!arrival_ || awaited_) return;
  Stream{gpu_}.wait(*arrival_);
  awaited_ = true;
}

}  // namespace lockstep
