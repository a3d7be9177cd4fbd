#pragma once

namespace lockstep {

/// Whether `address` is in GPU memory of another library, given to Tensor::from_blob. Kernels of other GPUs may be
/// unable to access it, as the library opens only its own memory to them.
bool is_borrowed(const void* address);

}  // namespace lockstep
