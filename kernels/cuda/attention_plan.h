#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cudnn.h>

#include <lockstep/kernels/cuda/fused_attention.h>
#include <lockstep/kernels/cuda/planned_gpu.h>

// Attention as cuDNN graphs (cudnn_graphs.cpp).

namespace lockstep::cudnn {

/// cuDNN's algorithm for a pass of attention on one kind of GPU. It is deterministic, multiplies bf16 on tensor cores
/// and accumulates in f32. cuDNN compiles the algorithm's kernels with NVRTC when the plan is made. With dropout, both
/// passes draw the same numbers (Philox) if they have the same shapes, seed and offset.
class AttentionPlan {
 public:
  /// Chooses the first algorithm, in the order of cuDNN's heuristics, whose plan can be built. Throws Unsupported
  /// naming the attention if there is no such algorithm, if cuDNN is older than 9.16, and for a gradient if b * heads *
  /// tq is not a multiple of 4 (cuDNN's workspace would not be aligned).
  AttentionPlan(const FusedAttention& attention, const PlannedFor& gpu);
  /// Restores the plan from the bytes that `serialized` returned for the same attention and kind of GPU, without
  /// compiling kernels. Returns nothing if this cuDNN rejects the bytes.
  static std::optional<AttentionPlan> restored(const FusedAttention& attention, const PlannedFor& gpu,
                                               const std::vector<std::uint8_t>& bytes);
  AttentionPlan(AttentionPlan&&) noexcept;
  ~AttentionPlan();

  /// Scratch memory that run() needs, in bytes. On GPUs of compute capability 8 and 9, a gradient needs 2 bytes for
  /// each score.
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  /// cuDNN's name of the algorithm.
  const std::string& engine() const { return engine_; }
  /// The graph as cudnn-frontend's JSON.
  std::string graph() const;
  /// The plan, with its compiled kernels, as bytes for `restored`. Throws Unsupported naming the attention.
  std::vector<std::uint8_t> serialized() const;

  /// Addresses on the GPU, aligned to operand_alignment, in the layouts of FusedAttention. The forward pass writes y
  /// and log_sum_exp; the gradient reads them and writes dquery, dkey and dvalue.
  struct Operands {
    ///@{
    /// See FusedAttention; `bias`, `seed` and `offset` are read only if the attention has a bias or dropout.
    void* query;
    void* key;
    void* value;
    void* bias;
    void* seed;
    void* offset;
    void* y;
    void* log_sum_exp;
    void* dy = nullptr;
    void* dquery = nullptr;
    void* dkey = nullptr;
    void* dvalue = nullptr;
    ///@}
  };
  /// Enqueues the pass on the handle's stream. Throws DeviceError naming attention and device.
  void run(cudnnHandle_t handle, const Operands& operands, void* workspace) const;

 private:
  /// The attention and its cuDNN graph.
  struct Description;
  explicit AttentionPlan(std::unique_ptr<Description> description);
  /// Checks all memory that run() is given.
  void check_contracts(const FusedAttention& attention, const Operands& operands, const void* workspace) const;

  std::unique_ptr<Description> description_;
  std::int64_t workspace_bytes_ = 0;
  std::string engine_;
};

}  // namespace lockstep::cudnn
