#pragma once

namespace lockstep {

/// Makes the results of a program bit-identical in all runs with the same seed on the same devices, like TensorFlow's
/// tf.config.experimental.enable_op_determinism. CPU results are always bit-identical. On GPUs, lockstep always
/// requests deterministic algorithms; this call also fixes choices that could differ between runs: cuDNN algorithms are
/// not timed (LOCKSTEP_CUDNN_AUTOTUNE is ignored), cuDNN's recurrent layers get the value of CUBLAS_WORKSPACE_CONFIG
/// that cuDNN's release notes require, and NCCL reduces along rings with one protocol. The call sets environment
/// variables of these libraries unless they are already set. The libraries read them only once, so make the call before
/// the first use of a GPU and while no other thread reads or sets the environment. The call cannot be undone.
void enable_op_determinism();
/// Whether enable_op_determinism has been called.
bool is_op_determinism_enabled();

}  // namespace lockstep
