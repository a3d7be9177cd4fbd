// Checks attention: compares cuDNN's with that of the source that CPUs and GPUs share, and times both.

#include <algorithm>
#include <chrono>
#include <functional>

#include <lockstep/kernels/attention/attention_kernels.h>
#include <lockstep/kernels/cuda/attention_plan.h>
#include <lockstep/kernels/cuda/cudnn_handle.h>
#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/gpu_capture.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/memory_pool.h>

#include "array.h"
#include "check.h"

namespace lockstep::smoke {
namespace {

using kernels::AttentionRule;

/// Which keys are hidden.
enum class Mask { none, padding, of_heads, some_see_nothing };

struct AttentionCase {
  std::string name;
  std::int64_t batch, queries, keys, heads, key_heads, size, value_size;
  bool is_causal = false;
  Mask mask = Mask::none;
  bool is_sliced = false;  ///< operands are slices of larger tensors
  bool is_far = false;     ///< all scores are about -120
  float dropout_rate = 0;
};

std::vector<AttentionCase> attention_cases() {
  return {{"plain", 2, 197, 197, 12, 12, 64, 64},
          {"sliced", 2, 197, 197, 12, 12, 64, 64, false, Mask::none, true},
          {"of_head_sizes", 2, 64, 128, 4, 4, 128, 72},
          {"of_narrow_heads", 2, 33, 65, 4, 4, 8, 8},
          {"of_groups", 2, 128, 192, 8, 2, 64, 64},
          {"of_one_query", 2, 1, 77, 8, 8, 64, 64},
          {"causal", 2, 256, 256, 12, 12, 64, 64, true},
          {"causal_more_keys", 2, 100, 300, 4, 4, 64, 64, true},
          {"causal_more_queries", 2, 300, 100, 4, 4, 64, 64, true},
          {"causal_of_groups", 2, 256, 256, 8, 2, 64, 64, true},
          {"padding", 3, 128, 301, 8, 8, 64, 64, false, Mask::padding},
          {"causal_padding", 3, 200, 200, 8, 4, 64, 64, true, Mask::padding},
          {"mask_of_heads", 2, 96, 130, 4, 4, 64, 64, false, Mask::of_heads},
          {"queries_that_see_nothing", 2, 96, 130, 4, 2, 64, 64, false, Mask::some_see_nothing},
          {"causal_queries_that_see_nothing", 2, 130, 130, 4, 2, 64, 64, true, Mask::some_see_nothing, true},
          {"very_negative_scores", 1, 64, 64, 4, 4, 64, 64, false, Mask::none, false, true},
          {"in_parts_of_the_batch", 64, 1024, 1024, 12, 12, 8, 8, true}};
}

/// Operands and results of both passes on the current device.
struct Attended {
  explicit Attended(const AttentionCase& c)
      : query(operand({c.batch, c.queries, c.heads, c.size}, c.is_sliced, 1, c.is_far ? 1 : 0)),
        key(operand({c.batch, c.keys, c.key_heads, c.size}, c.is_sliced, 2, c.is_far ? -960 : 0)),
        value(operand({c.batch, c.keys, c.key_heads, c.value_size}, c.is_sliced, 3)),
        dy(operand({c.batch, c.queries, c.heads, c.value_size}, c.is_sliced, 4)),
        rule{.scale = 1 / std::sqrt(static_cast<float>(c.size)),
             .is_causal = c.is_causal,
             .mask = mask_of(c),
             .dropout_rate = c.dropout_rate,
             .key = {.seed = 5},
             .examples_per_seed = std::make_shared<std::int64_t>(0)},
        y(Tensor::empty(dy.shape(), DType::bf16)),
        dquery(Tensor::empty(query.shape(), DType::bf16)),
        dkey(Tensor::empty(key.shape(), DType::bf16)),
        dvalue(Tensor::empty(value.shape(), DType::bf16)),
        maximum(Tensor::empty({c.batch, c.heads, c.queries})),
        sum(Tensor::empty(maximum.shape())) {}

  kernels::Attention forward() const { return {query, key, value, rule, y, maximum, sum}; }
  kernels::AttentionGradient gradient() const {
    return {query, key, value, rule, y, maximum, sum, dy, dquery, dkey, dvalue};
  }
  std::vector<std::vector<double>> results() const {
    std::vector<std::vector<double>> all;
    for (const Tensor& x : {y, dquery, dkey, dvalue}) all.push_back(x.to_vector<double>());
    return all;
  }
  /// cuDNN's algorithm of a pass.
  std::string engine(bool of_gradient) const {
    const Tensor bias = rule.mask.defined() ? cudnn::empty_bias(cudnn::narrow_mask(rule.mask)) : Tensor();
    const cudnn::FusedAttention attention(rule, query, key, value, bias, of_gradient ? dy : Tensor());
    return cudnn::AttentionPlan(attention, cudnn::handle_of(gpu(current_context().device))).engine();
  }

  Tensor query, key, value, dy;
  AttentionRule rule;
  Tensor y, dquery, dkey, dvalue, maximum, sum;

 private:
  /// `first`: if not 0, the first element of each head.
  static Tensor operand(const Shape& shape, bool is_sliced, std::uint32_t seed, float first = 0) {
    if (!is_sliced) {
      std::vector<bfloat16> elements = eighths<bfloat16>(shape.elements(), seed);
      for (std::size_t i = 0; first != 0 && i < elements.size(); i += static_cast<std::size_t>(shape[3]))
        elements[i] = static_cast<bfloat16>(first);
      return Tensor::from(elements, shape);
    }
    const Shape all{shape[0], shape[1], 3 * shape[2], shape[3]};
    return Tensor::from(eighths<bfloat16>(all.elements(), seed), all).slice_view(2, shape[2], 2 * shape[2]);
  }

  static Tensor mask_of(const AttentionCase& c) {
    if (c.mask == Mask::none) return {};
    const bool by_query = c.mask != Mask::padding;
    const Shape shape{c.batch, by_query ? c.heads : 1, by_query ? c.queries : 1, c.keys};
    std::vector<std::uint8_t> seen;
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t h = 0; h < shape[1]; ++h)
        for (std::int64_t q = 0; q < shape[2]; ++q)
          for (std::int64_t k = 0; k < shape[3]; ++k) {
            const bool is_padding = k >= c.keys - 40 * b;
            const bool is_hidden = (q + 2 * k + h + b) % 3 == 0 || (c.mask == Mask::some_see_nothing && q % 4 == 1);
            seen.push_back((c.mask == Mask::padding ? is_padding : is_hidden) ? 0 : 1);
          }
    const Tensor mask = Tensor::empty(shape, DType::boolean);
    launch(kernels::Convert{Tensor::from(seen, shape), mask});
    return mask.broadcast_view({c.batch, c.heads, c.queries, c.keys});
  }
};

ContextScope on_gpu() { return ContextScope(context_on(logical_gpus(1).front())); }

std::string compared_results(const std::vector<std::vector<double>>& found,
                             const std::vector<std::vector<double>>& expected) {
  // Weights and their gradients are rounded to bf16 before they are multiplied.
  constexpr double tolerance = 1.0 / 32;
  constexpr const char* names[] = {"y", "gradients of the queries", "of the keys", "of the values"};
  std::string seen;
  for (std::size_t i = 0; i < found.size(); ++i)
    seen += fmt::format("{}{}: {}", i == 0 ? "" : "; ", names[i], compared(found[i], expected[i], tolerance));
  return seen;
}

/// Compares both passes; the gradient must have the same bits when it is computed again.
std::string see_attention(const AttentionCase& c) {
  const ContextScope there = on_gpu();
  const Attended attended(c);
  std::string engines = attended.engine(false);
  try {
    engines += " and " + attended.engine(true);
  } catch (const Unsupported& error) {
    if (c.mask == Mask::none) throw;
    engines += fmt::format("; no gradient: {}", error.what());  // as cuDNN 9.19 for compute capability 10.0
  }
  launch(attended.forward());
  launch(attended.gradient());
  const auto found = attended.results();
  launch(attended.gradient());
  require<DeviceError>(attended.results() == found, "the gradient has other bits when it is computed again");
  kernels::on_gpu(kernels::AttentionByRows{attended.forward()});
  kernels::on_gpu(kernels::AttentionGradientByRows{attended.gradient()});
  return fmt::format("{}, by {}", compared_results(found, attended.results()), engines);
}

/// The dot product of each example of a and b, and the square root of the sum of the products' squares.
std::vector<std::pair<double, double>> dots_of_examples(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>();
  const std::vector<double> y = b.to_vector<double>();
  const std::size_t length = x.size() / static_cast<std::size_t>(a.dim(0));
  std::vector<std::pair<double, double>> dots;
  for (std::size_t first = 0; first < x.size(); first += length) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = first; i < first + length; ++i) {
      sum += x[i] * y[i];
      squares += x[i] * y[i] * x[i] * y[i];
    }
    dots.emplace_back(sum, std::sqrt(squares));
  }
  return dots;
}

/// Both passes must drop the same weights: dy y = dvalue value for each example, since y = W value and dvalue = W^T dy.
std::string see_attention_with_dropout(const AttentionCase& c) {
  const ContextScope there = on_gpu();
  const Attended attended(c);
  const auto run = [&] {
    launch(attended.forward());
    launch(attended.gradient());
    return attended.results();
  };
  const auto found = run();
  require<DeviceError>(run() == found, "the same key gives other bits when both passes run again");
  const auto of_results = dots_of_examples(attended.dy, attended.y);
  const auto of_values = dots_of_examples(attended.value, attended.dvalue);
  double most = 0;
  for (std::size_t i = 0; i < of_results.size(); ++i)
    most = std::max(most, std::abs(of_results[i].first - of_values[i].first) / of_results[i].second);
  require<DeviceError>(most < 0.1, "the gradient drops other weights: products differ by {} of their size", most);
  const std::int64_t examples = *attended.rule.examples_per_seed;
  if (examples == 0) return "by lockstep's kernels; cuDNN has no algorithm";
  return fmt::format("products differ by {:.4f} of their size at most; {} examples at once", most, examples);
}

/// A captured graph must give the bits of the passes themselves.
std::string see_attention_in_a_graph() {
  const ContextScope there = on_gpu();
  const LogicalDevice device = current_context().device;
  const Attended attended(attention_cases()[11]);
  const MemoryPool pool(device);
  const auto run = [&] {
    launch(attended.forward());
    launch(attended.gradient());
  };
  CapturedWork work;
  {
    const MemoryPoolScope apart(pool);
    for (int warm_up = 0; warm_up < 2; ++warm_up) run();
    GpuCapture capture(device);
    run();
    work = capture.take();
  }
  for (const Tensor* x : {&attended.query, &attended.dy})  // the graph must read the operands when it is launched
    launch(kernels::Convert{Tensor::from(eighths<bfloat16>(x->elements(), 9), x->shape()), *x});
  work.launch();
  const auto found = attended.results();
  run();
  require<DeviceError>(attended.results() == found, "a captured graph gives other bits");
  return "the same bits";
}

/// Time of one call in ms, after a first call.
double time_of(const std::function<void()>& call, int calls) {
  Gpu& device = gpu(current_context().device);
  call();
  device.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  device.synchronize();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / calls;
}

/// Beside bench/peers/pytorch_attention.py, which times PyTorch at the same sizes.
std::string see_attention_speed() {
  const ContextScope there = on_gpu();
  std::string seen;
  for (const AttentionCase& c :
       {AttentionCase{"ViT-B", 64, 197, 197, 12, 12, 64, 64}, AttentionCase{"GPT", 8, 1024, 1024, 12, 12, 64, 64, true},
        AttentionCase{"GPT with padding", 8, 1024, 1024, 12, 12, 64, 64, true, Mask::padding},
        AttentionCase{"GPT with dropout", 8, 1024, 1024, 12, 12, 64, 64, true, Mask::none, false, false, 0.1F},
        AttentionCase{"groups", 8, 1024, 1024, 32, 8, 64, 64, true}}) {
    const Attended attended(c);
    seen += fmt::format("{}{}: forward {:.3f} ms, gradient {:.3f} ms, without cuDNN {:.3f} ms and {:.3f} ms",
                        seen.empty() ? "" : "; ", c.name, time_of([&] { launch(attended.forward()); }, 20),
                        time_of([&] { launch(attended.gradient()); }, 20),
                        time_of([&] { kernels::on_gpu(kernels::AttentionByRows{attended.forward()}); }, 1),
                        time_of([&] { kernels::on_gpu(kernels::AttentionGradientByRows{attended.gradient()}); }, 1));
  }
  return seen;
}

}  // namespace

std::vector<Check> attention_checks() {
  std::vector<Check> checks;
  for (const AttentionCase& c : attention_cases())
    checks.push_back({"attention_" + c.name, [c] { return see_attention(c); }});
  for (AttentionCase c : attention_cases()) {
    c.dropout_rate = 0.2F;
    checks.push_back({"attention_with_dropout_" + c.name, [c] { return see_attention_with_dropout(c); }});
  }
  checks.push_back({"attention_in_a_graph", see_attention_in_a_graph});
  checks.push_back({"attention_speed", see_attention_speed, true});
  return checks;
}

}  // namespace lockstep::smoke
