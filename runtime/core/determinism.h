#pragma once

namespace lockstep {

/// TensorFlow's tf.config.experimental.enable_op_determinism: runs of one program with one seed on the same devices
/// give the same bits. CPUs do that always. On GPUs all algorithms that are asked for do, too; this fixes what is left
/// to libraries: cuDNN's algorithms are not timed (LOCKSTEP_CUDNN_AUTOTUNE counts for nothing), its recurrent layers
/// get the workspaces that its release notes ask for, and NCCL sums along rings by one protocol. The libraries are set
/// by environment variables of theirs, of which those that are set stay. They read them once: call this before the
/// first use of a GPU, while no other thread reads or sets the environment. There is no way back.
void enable_op_determinism();
/// Whether that has been called.
bool is_op_determinism_enabled();

}  // namespace lockstep
