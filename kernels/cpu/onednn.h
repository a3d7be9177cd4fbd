#pragma once

#include <array>
#include <map>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/tensor/tensor.h>

// Functions shared by the kernels that use oneDNN. Each thread keeps its own primitives, since each replica has its own
// thread.

namespace lockstep::onednn {

/// The CPU engine of the process.
const dnnl::engine& engine();
/// Makes a primitive descriptor from the arguments of oneDNN's descriptor, e.g.
/// describe<dnnl::convolution_forward>(attributes, parts...). oneDNN 2 needs an operation descriptor first; oneDNN 3
/// takes all arguments at once.
template <class Primitive, class... Parts>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes, const Parts&... parts) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(parts...), attributes, engine()};
#else
  return {engine(), parts..., attributes};
#endif
}
/// Makes the primitive descriptor of a gradient, which also needs the descriptor of the forward primitive.
template <class Primitive, class Forward, class... Parts>
typename Primitive::primitive_desc describe_gradient(const Forward& forward, const dnnl::primitive_attr& attributes,
                                                     const Parts&... parts) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(parts...), attributes, engine(), forward};
#else
  return {engine(), parts..., forward, attributes};
#endif
}
/// Whether primitives may apply this fusable activation. False for relu, relu6 and exponential: oneDNN's
/// implementations of these map NaN to a number, which would hide divergence.
bool applies(Activation activation);
/// Attributes of a primitive that uses scratch memory from the caller and applies `activation`. Throws BrokenInvariant
/// if applies(activation) is false.
dnnl::primitive_attr attributes(Activation activation = Activation::linear);
/// Attributes of a primitive that uses scratch memory from the caller and, if `write` is Write::add, adds its result to
/// the destination.
dnnl::primitive_attr attributes(Write write);
/// oneDNN's data type for f32 or bf16.
dnnl::memory::data_type data_type(DType dtype);
/// Requests the system's permission for this process to use AMX; without it, the first AMX instruction would kill the
/// process. Returns whether AMX for bf16 is usable: supported by the processor, not disabled by ONEDNN_MAX_CPU_ISA, and
/// permitted.
bool request_tiles();
/// The result of request_tiles() at the first call of this function, cached.
bool has_tiles();
/// Whether oneDNN multiplies bf16 faster than f32: with AMX, and with AVX-512 BF16 on processors other than Intel's.
bool has_fast_bfloat16();
/// Whether oneDNN uses AVX-512.
bool has_avx512();
/// oneDNN memory of layout `desc` over the tensor's elements. Does not keep the tensor's memory alive.
dnnl::memory bind(const dnnl::memory::desc& desc, const Tensor& tensor);
/// An uninitialized u8 tensor (desc.get_size()) on the calling thread's device.
Tensor allocate(const dnnl::memory::desc& desc);

using Arguments = std::unordered_map<int, dnnl::memory>;
/// Runs a primitive on compute_threads() threads (runtime/thread/parallel.h) and waits for it. Throws Unsupported
/// naming `what` if oneDNN fails.
void execute(const char* what, const dnnl::primitive& primitive, const Arguments& arguments);

/// A primitive and the layouts that oneDNN chose for it.
struct Plan {
  dnnl::primitive primitive;
  dnnl::memory::desc scratchpad;
  dnnl::memory::desc weights;  ///< layout of the kernel or of its gradient
  dnnl::reorder reorder;       ///< converts between the plain layout and `weights`; empty if they are the same
};
/// Allocates scratch memory for the plan's primitive and runs it as `execute` above does.
void execute(const char* what, const Plan& plan, Arguments arguments);

/// A plan for a primitive that reads a kernel whose layout is `plain`.
template <class Description>
Plan reading_plan(const Description& description, const dnnl::primitive& primitive, const dnnl::memory::desc& plain) {
  Plan plan{primitive, description.scratchpad_desc(), description.weights_desc(), {}};
  if (plan.weights != plain) plan.reorder = dnnl::reorder({engine(), plain, engine(), plan.weights});
  return plan;
}
/// Converts a kernel from layout `plain` to the plan's layout; returns the kernel itself if the layouts are equal.
Tensor in_layout_of(const Plan& plan, const dnnl::memory::desc& plain, const Tensor& kernel);

/// Shapes and options that a plan depends on.
using PlanKey = std::array<std::int64_t, 20>;

/// One thread's plans for one kind of primitive; define it as thread_local. Plans also depend on compute_threads(),
/// which the cache adds to the key.
class PlanCache {
 public:
  explicit PlanCache(const char* what) : what_(what) {}

  /// The plan for `key`, valid until the next call. Calls `make()` if the cache has no plan for it. A call that finds
  /// 1,024 plans in the cache drops all of them first. Throws Unsupported when oneDNN cannot create the primitive.
  template <class Make>
  const Plan& get(const PlanKey& key, Make&& make) {
    const Entry entry = prepare(key);
    if (const auto found = plans_.find(entry); found != plans_.end()) return found->second;
    try {
      return plans_.emplace(entry, make()).first->second;
    } catch (const dnnl::error& error) {
      refuse(what_, error);
    }
  }

 private:
  struct Entry {
    PlanKey key;
    int threads;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  Entry prepare(const PlanKey& key);
  [[noreturn]] static void refuse(const char* what, const dnnl::error& error);

  const char* what_;
  std::map<Entry, Plan> plans_;
};

}  // namespace lockstep::onednn
