#pragma once

#include <array>
#include <map>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

#include <lockstep/kernels/activation.h>
#include <lockstep/kernels/write.h>
#include <lockstep/runtime/tensor/tensor.h>

// What the kernels on oneDNN share. Primitives are kept by thread: each replica computes on its own one.

namespace lockstep::onednn {

/// The CPU engine of the process.
const dnnl::engine& engine();
/// What a primitive is made from, e.g. describe<dnnl::convolution_forward>(attributes, what oneDNN's description
/// takes). oneDNN 2 first wants that as an operation, oneDNN 3 all at once.
template <class Primitive, class... Parts>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes, const Parts&... parts) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(parts...), attributes, engine()};
#else
  return {engine(), parts..., attributes};
#endif
}
/// The same of a gradient, which gets the `forward` primitive.
template <class Primitive, class Forward, class... Parts>
typename Primitive::primitive_desc describe_gradient(const Forward& forward, const dnnl::primitive_attr& attributes,
                                                     const Parts&... parts) {
#if DNNL_VERSION_MAJOR < 3
  return {typename Primitive::desc(parts...), attributes, engine(), forward};
#else
  return {engine(), parts..., forward, attributes};
#endif
}
/// Whether a primitive can apply it to its result. Of the fusable ones not relu, relu6 and exponential: oneDNN's make
/// numbers of NaN, with which a model that diverges would look as if it learned no more.
bool applies(Activation activation);
/// Attributes that make a primitive take its scratch memory from us and apply an activation that it can.
dnnl::primitive_attr attributes(Activation activation = Activation::linear);
/// Attributes that make a primitive take its scratch memory from us and write as said.
dnnl::primitive_attr attributes(Write write);
/// oneDNN's name of f32 or bf16.
dnnl::memory::data_type data_type(DType dtype);
/// Whether the processor multiplies tiles of bf16 (AMX) and the system permits it to this process, which this asks for:
/// without permission the first of these instructions ends the program.
bool request_tiles();
/// The answer to the first request of the process.
bool has_tiles();
/// Whether oneDNN's products of bf16 are faster than those of f32: with AMX, and with AVX-512 BF16 but for Intel's.
bool has_fast_bfloat16();
/// `desc` over the tensor's memory.
dnnl::memory bind(const dnnl::memory::desc& desc, const Tensor& tensor);
/// Uninitialized memory for `desc` from the device's allocator.
Tensor allocate(const dnnl::memory::desc& desc);

using Arguments = std::unordered_map<int, dnnl::memory>;
/// Runs a primitive on the calling thread's share of the cores and waits. `what` is named in errors (Unsupported).
void execute(const char* what, const dnnl::primitive& primitive, const Arguments& arguments);

/// A primitive with the layouts it chose.
struct Plan {
  dnnl::primitive primitive;
  dnnl::memory::desc scratchpad;
  dnnl::memory::desc weights;  ///< read or, by a weight gradient, written
  dnnl::reorder reorder;       ///< between the plain layout and `weights`; empty when they are the same
};

/// A plan of a primitive that reads its kernel, which lies as `plain` says.
template <class Description>
Plan reading_plan(const Description& description, const dnnl::primitive& primitive, const dnnl::memory::desc& plain) {
  Plan plan{primitive, description.scratchpad_desc(), description.weights_desc(), {}};
  if (plan.weights != plain) plan.reorder = dnnl::reorder({engine(), plain, engine(), plan.weights});
  return plan;
}
/// A kernel that lies as `plain` says, in the plan's layout: itself where that is the same.
Tensor in_layout_of(const Plan& plan, const dnnl::memory::desc& plain, const Tensor& kernel);

/// Shapes and options that a plan depends on.
using PlanKey = std::array<std::int64_t, 20>;

/// The plans of the calling thread for one kind of primitive; make one as a thread_local. Plans also depend on
/// compute_threads(), which is part of the key without being given.
class PlanCache {
 public:
  explicit PlanCache(const char* what) : what_(what) {}

  /// The plan for `key`, from `make()` at first use. oneDNN's refusal becomes Unsupported.
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
