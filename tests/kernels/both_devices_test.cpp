#include <algorithm>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/activations.h>
#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/kernels/reduction/reduction_kernels.h>
#include <lockstep/kernels/update/norm_limits.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/context.h>
#include <lockstep/runtime/device/registry.h>

// GPUs must give the same results as CPUs: all ops, their gradients, and what strategies and optimizers call, on a
// pretended GPU. There, the CPU's kernels replace cuDNN and cuBLASLt.

namespace lockstep::test {
namespace {

/// The four rows of x as slices with the indices 3, 1, 3, 1 of five rows.
IndexedSlices slices_of(const Tensor& x) {
  return {x, Tensor::from(std::vector<std::int64_t>{3, 1, 3, 1}, {4}), {5, x.dim(1)}};
}

/// A copy that may be overwritten.
Tensor own_copy(const Tensor& x) { return x * 1; }

/// Another device of the same kind as the computing one.
LogicalDevice another_device() { return {.kind = current_context().device.kind, .index = 1}; }

template <class T>
Tensor reduced(In in) {
  const Tensor a = cast(cast(in[0], DType::f32) * 50, dtype_of<T>);
  const Tensor b = cast(cast(in[1], DType::f32) * 50, dtype_of<T>);
  const Tensor out = Tensor::empty(a.shape(), dtype_of<T>);
  const T* const from[] = {a.data<T>(), b.data<T>()};
  T* const to[] = {out.data<T>()};
  launch(kernels::Reduce{ReduceOp::sum, ReduceViews<T>{.in = from, .out = to, .count = a.elements()}});
  return out;
}

Tensor updated(In in) {
  const Tensor gradient = cast(in[0], DType::f32) * 1;
  const Tensor parameter = cast(in[1], DType::f32) * 1;
  const float* const from[] = {gradient.data<float>()};
  float* const to[] = {parameter.data<float>()};
  launch(kernels::Update{SgdStep{.learning_rate = 0.5F}, UpdateViews{from, to, {}, gradient.elements()}});
  return parameter;
}

Tensor norm_of(In in) {
  const Tensor x = cast(in[0], DType::f32);
  return Tensor::scalar(static_cast<float>(launch(kernels::SquaredNorm{x.data<float>(), x.elements()})));
}

/// A call: of a row, or one that strategies and optimizers make.
struct Call {
  std::string name;
  std::vector<Tensor> inputs;
  Op run;
  bool has_gradient = false;
};

std::vector<Call> other_calls() {
  const Tensor x = random_tensor({4, 6}, 1, 0.2, 0.8);
  const Tensor y = random_tensor({4, 6}, 2, 0.2, 0.8);
  return {{"activate", {x}, [](In in) { return activate(in[0], Activation::tanh); }},
          {"update_moving_averages",
           {x, y},
           [](In in) {
             const Tensor average = own_copy(in[0]);
             update_moving_averages({{average, in[1], 0.5F}});
             return average;
           }},
          {"limit_norms",
           {x},
           [](In in) {
             const Tensor limited = own_copy(in[0]);
             limit_norms(limited, {0}, {.max_value = 0.1});
             return limited;
           }},
          {"scatter_add",
           {x},
           [](In in) {
             const Tensor sum = Tensor::full({5, 6}, 1, in[0].dtype());
             scatter_add(slices_of(in[0]), sum);
             return sum;
           }},
          {"to_device", {x}, [](In in) { return to_device(in[0], another_device()); }},
          {"reachable_from", {x}, [](In in) { return reachable_from(another_device(), in[0]); }},
          {"assign",
           {x},
           [](In in) {
             const Tensor to = Tensor::empty({4, 6}, DType::i64);
             assign(in[0] * 100.0, to);
             return to;
           }},
          {"reduce f32", {x, y}, reduced<float>},
          {"reduce bf16", {x, y}, reduced<bfloat16>},
          {"reduce i32", {x, y}, reduced<std::int32_t>},
          {"reduce i64", {x, y}, reduced<std::int64_t>},
          {"update", {x, y}, updated},
          {"squared_norm", {x}, norm_of}};
}

/// The op's inputs that are bf16 instead of f32.
enum class Narrow { none, first, all };

/// Keyed by the call: the result, then the gradients of the inputs; empty if the call is refused.
using Results = std::map<std::string, std::vector<Tensor>>;

std::vector<Tensor> results_of(const Call& call, Narrow narrow_inputs) {
  std::vector<Tensor> inputs;
  for (const Tensor& input : call.inputs) {
    const bool narrow = narrow_inputs == Narrow::all || (narrow_inputs == Narrow::first && inputs.empty());
    inputs.push_back(cast(to_device(input, current_context().device), narrow ? DType::bf16 : input.dtype()));
  }
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  std::vector<Tensor> results{call.run(inputs)};
  if (!call.has_gradient) return results;
  const Tensor& y = results.front();
  const Tensor weights = cast(to_device(random_tensor(y.shape(), 99), y.device()), y.dtype());
  std::ranges::move(tape.gradient(sum(y * weights), inputs), std::back_inserter(results));
  return results;
}

void add_results(const Call& call, Results& results) {
  for (const auto& [narrow, name] :
       {std::pair(Narrow::none, call.name), std::pair(Narrow::first, call.name + ", first of bf16"),
        std::pair(Narrow::all, call.name + ", all of bf16")}) {
    try {
      results[name] = results_of(call, narrow);
    } catch (const Error& error) {
      results.erase(name);
      EXPECT_TRUE(narrow != Narrow::none) << call.name << ": " << error.what();
    }
  }
}

Results results_on(const LogicalDevice& device) {
  const std::vector<Call> others = other_calls();
  const ContextScope there({.device = device});
  Results results;
  for (const OpCase& op : small_op_cases()) {
    const Call call{op.name, op.inputs, op.run, op.has_gradient()};
    if (op.has_gradient())
      add_results(call, results);
    else
      results[call.name] = results_of(call, Narrow::none);
  }
  for (const Call& call : others) add_results(call, results);
  return results;
}

const Results& results_on_gpu() {
  static const auto& results = *new Results([] {
    Results found = results_on(logical_gpus(1).front());
    for (auto& [call, tensors] : found)
      for (Tensor& tensor : tensors)
        if (tensor.defined()) tensor = tensor.on_host();
    return found;
  }());
  return results;
}

/// Tolerances: sums are added in another order, and CPUs compute recurrent layers step by step.
TEST(BothKindsOfDevice, TakeAndGiveTheSame) {
  const Results cpu = results_on(logical_cpus(1).front());
  for (const auto& [call, expected] : cpu) {
    SCOPED_TRACE(call);
    const auto found = results_on_gpu().find(call);
    if (found == results_on_gpu().end()) {
      ADD_FAILURE() << "CPUs take it, GPUs do not";
      continue;
    }
    ASSERT_EQ(found->second.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(result_name(i));
      const Tensor& actual = found->second[i];
      ASSERT_EQ(actual.defined(), expected[i].defined());
      if (!actual.defined()) continue;
      ASSERT_EQ(actual.shape(), expected[i].shape());
      ASSERT_EQ(actual.dtype(), expected[i].dtype());
      if (is_real(actual.dtype()))
        expect_close(actual, expected[i].to_vector<double>(), 64);
      else
        EXPECT_EQ(actual.to_vector<double>(), expected[i].to_vector<double>());
    }
  }
  for (const auto& [call, results] : results_on_gpu())
    EXPECT_TRUE(cpu.contains(call)) << "GPUs take it, CPUs do not: " << call;
}

}  // namespace
}  // namespace lockstep::test
