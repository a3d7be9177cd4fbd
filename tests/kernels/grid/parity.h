#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <support/tensors.h>

#include <lockstep/kernels/op/layout.h>

// Checks that a kernel's shared source gives the same results as the CPU's own kernel, which has its own tests. The
// shared source runs on the host or, in a program with LOCKSTEP_EMULATED_GPU, on a GPU that the CPU emulates
// (../emulated_gpu).

namespace lockstep::test {

/// The source of a kernel to run.
enum class Source { cpu, shared };

/// Runs kernels on CPU tensors.
class Runner {
 public:
  explicit Runner(Source source) : source_(source) {}

  template <class Kernel>
  auto operator()(const Kernel& kernel) const {
    if (source_ == Source::cpu) return kernels::run_on_cpu(kernel);
#if defined(LOCKSTEP_EMULATED_GPU)
    return on_gpu(kernel);
#else
    return on_host(kernel);
#endif
  }

 private:
  Source source_;
};

/// Position of the first index outside its range, or -1. On the host, this is `returned`, the kernel's result; on GPUs,
/// it is reported at the next wait under the indices' name `what`. Each program links its own definition.
std::int64_t first_fault(std::int64_t returned, const std::string& what);

/// Outputs of an op, filled before it runs.
using Results = std::vector<Tensor>;

/// Deep copies.
inline Results copies(const Results& of) {
  Results result;
  for (const Tensor& tensor : of) {
    result.push_back(Tensor::empty(tensor.shape(), tensor.dtype()));
    copy(tensor, result.back());
  }
  return result;
}

/// The dtypes of kernels marked "real".
inline constexpr DType real_dtypes[] = {DType::f32, DType::bf16};

/// Outputs of these shapes filled with NaN, with -77 for i32 and i64 or with 1 for bytes and bools, which reveals
/// elements that are not written.
inline Results unwritten(const std::vector<Shape>& shapes, DType dtype = DType::f32) {
  Results result;
  const double value = is_real(dtype) ? std::nan("") : is_integer(dtype) ? -77 : 1;
  for (const Shape& shape : shapes) result.push_back(Tensor::full(shape, value, dtype));
  return result;
}

/// The results of both sources of a kernel for the same initial outputs.
struct BothSources {
  template <class Op>
  BothSources(const Results& before, const Op& op) : cpu(copies(before)), grid(copies(before)) {
    op(Runner(Source::cpu), cpu);
    op(Runner(Source::shared), grid);
  }

  Results cpu;
  Results grid;
};

/// Compares bits. Both sources use the same functions of kernels/common, so that only the order of additions could
/// change the bits.
template <class Op>
void expect_same(const Results& before, const Op& op) {
  const BothSources both(before, op);
  for (std::size_t i = 0; i < both.cpu.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_same_bits(both.grid[i], both.cpu[i]);
  }
}

///@{
/// Like expect_same, for outputs of these shapes that the op writes completely, in f32 or `dtype`.
template <class Op>
void expect_same_results(DType dtype, const std::vector<Shape>& shapes, const Op& op) {
  expect_same(unwritten(shapes, dtype), op);
}
template <class Op>
void expect_same_results(const std::vector<Shape>& shapes, const Op& op) {
  expect_same_results(DType::f32, shapes, op);
}
///@}

/// Compares up to the rounding of sums of `length` terms (1 if both sources add in f64).
template <class Op>
void expect_near(const Results& before, std::int64_t length, const Op& op) {
  const BothSources both(before, op);
  for (std::size_t i = 0; i < both.cpu.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_close(both.grid[i], both.cpu[i].to_vector<double>(), length);
  }
}

/// Compares in the same way, for outputs of these shapes and `dtype` that the op writes completely.
template <class Op>
void expect_near(const std::vector<Shape>& shapes, std::int64_t length, const Op& op, DType dtype = DType::f32) {
  expect_near(unwritten(shapes, dtype), length, op);
}

/// Integers from -3 to 3 as f32: sums of a million products of two are exact in any order.
inline Tensor whole_numbers(const Shape& shape, unsigned seed) {
  const Tensor x = random_tensor(shape, seed, -3.4, 3.4);
  for (float& value : x.span<float>()) value = std::round(value);
  return x;
}

/// Random i64 in [0, bound).
inline Tensor random_indices(std::int64_t n, std::int64_t bound, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(generator()) % bound;
  return Tensor::from(values, {n});
}

}  // namespace lockstep::test
