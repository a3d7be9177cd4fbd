#pragma once

namespace lockstep {

/// Whether `address` is in another library's GPU memory that was passed to Tensor::from_blob and is still referenced by
/// a tensor; false for host memory. Kernels on other GPUs may be unable to access such memory, because lockstep enables
/// peer access only for memory that it allocated itself. Thread-safe.
bool is_borrowed(const void* address);

}  // namespace lockstep
