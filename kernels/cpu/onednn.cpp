#include "lockstep/kernels/cpu/onednn.h"

#include <omp.h>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <lockstep/kernels/elementwise/activation_functions.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::onednn {
namespace {

/// Gives oneDNN the calling thread's number of compute threads. OpenMP keeps that number per host thread, and oneDNN
/// divides a primitive's work among threads when the primitive is created.
void use_compute_threads() {
  thread_local int current = 0;
  if (const int wanted = compute_threads(); wanted != current) {
    omp_set_num_threads(wanted);
    current = wanted;
  }
}

/// A oneDNN elementwise function: scale * algorithm(x; alpha, beta).
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0, scale = 1;
};

Eltwise eltwise_of(Activation activation) {
  switch (activation) {
    case Activation::leaky_relu:
      return {dnnl::algorithm::eltwise_relu, 0.2F};
    case Activation::elu:
      return {dnnl::algorithm::eltwise_elu, 1};
    case Activation::selu:
      return {dnnl::algorithm::eltwise_elu, functor::Selu::alpha, 0, functor::Selu::scale};
    case Activation::sigmoid:
      return {dnnl::algorithm::eltwise_logistic};
    case Activation::tanh:
      return {dnnl::algorithm::eltwise_tanh};
    default:
      fail<BrokenInvariant>("activation {} is not one that oneDNN applies", static_cast<int>(activation));
  }
}

/// Whether the processor has the instructions and ONEDNN_MAX_CPU_ISA does not keep oneDNN from using them.
bool has(dnnl::cpu_isa instructions) {
  const auto wanted = static_cast<unsigned>(instructions);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

/// Whether the processor is from Intel. A bf16 dot product does twice as many multiplications as an f32 multiply-add.
/// On Intel cores with AVX-512 BF16 it takes four times as long, on AMD cores just as long (measured on Intel model 207
/// and on Zen 5).
bool is_of_intel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

/// Asks Linux for permission to use the AMX tile data registers, which neither the process nor the threads that it has
/// already created have before (Documentation/arch/x86/xstate.rst). The permission lasts as long as the process; asking
/// again has no effect.
bool system_grants_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM, which older headers lack
  constexpr long tile_data = 18;               // XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

dnnl::stream& stream() {
  thread_local dnnl::stream stream(engine());
  return stream;
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

bool applies(Activation activation) {
  return activation != Activation::relu && activation != Activation::relu6 && activation != Activation::exponential;
}

dnnl::primitive_attr attributes(Write write) {
  dnnl::primitive_attr result = attributes();
  if (write == Write::add) {
    dnnl::post_ops after;
    after.append_sum();
    result.set_post_ops(after);
  }
  return result;
}

dnnl::primitive_attr attributes(Activation activation) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (activation != Activation::linear) {
    const Eltwise function = eltwise_of(activation);
    dnnl::post_ops after;
#if DNNL_VERSION_MAJOR < 3
    after.append_eltwise(function.scale, function.algorithm, function.alpha, function.beta);
#else
    after.append_eltwise(function.algorithm, function.alpha, function.beta);
    if (function.scale != 1) after.append_eltwise(dnnl::algorithm::eltwise_linear, function.scale, 0);
#endif
    attributes.set_post_ops(after);
  }
  return attributes;
}

dnnl::memory::data_type data_type(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

bool request_tiles() { return has(dnnl::cpu_isa::avx512_core_amx) && system_grants_tiles(); }

bool has_tiles() {
  static const bool result = request_tiles();
  return result;
}

bool has_fast_bfloat16() {
  static const bool result = has_tiles() || (has(dnnl::cpu_isa::avx512_core_bf16) && !is_of_intel());
  return result;
}

bool has_avx512() {
  static const bool result = has(dnnl::cpu_isa::avx512_core);
  return result;
}

dnnl::memory bind(const dnnl::memory::desc& desc, const Tensor& tensor) { return {desc, engine(), tensor.raw_data()}; }

Tensor allocate(const dnnl::memory::desc& desc) {
  return Tensor::empty({static_cast<std::int64_t>(desc.get_size())}, DType::u8);
}

void execute(const char* what, const dnnl::primitive& primitive, const Arguments& arguments) {
  use_compute_threads();
  try {
    primitive.execute(stream(), arguments);
    stream().wait();
  } catch (const dnnl::error& error) {
    fail<Unsupported>("oneDNN could not run {}: {}", what, error.what());
  }
}

void execute(const char* what, const Plan& plan, Arguments arguments) {
  const Tensor scratch = allocate(plan.scratchpad);
  arguments.emplace(DNNL_ARG_SCRATCHPAD, bind(plan.scratchpad, scratch));
  execute(what, plan.primitive, arguments);
}

Tensor in_layout_of(const Plan& plan, const dnnl::memory::desc& plain, const Tensor& kernel) {
  if (!plan.reorder) return kernel;
  const Tensor result = allocate(plan.weights);
  execute("a reorder of a kernel", plan.reorder,
          {{DNNL_ARG_FROM, bind(plain, kernel)}, {DNNL_ARG_TO, bind(plan.weights, result)}});
  return result;
}

PlanCache::Entry PlanCache::prepare(const PlanKey& key) {
  use_compute_threads();
  // Far more than the layers of a model. Bounds the memory of a program whose shapes never repeat.
  constexpr std::size_t limit = 1024;
  if (plans_.size() >= limit) plans_.clear();
  return {key, compute_threads()};
}

void PlanCache::refuse(const char* what, const dnnl::error& error) {
  fail<Unsupported>("oneDNN has no {} for these shapes: {}", what, error.what());
}

}  // namespace lockstep::onednn
