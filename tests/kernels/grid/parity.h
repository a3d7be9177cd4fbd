#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <support/tensors.h>

#include <lockstep/kernels/cpu/cpu_backend.h>
#include <lockstep/kernels/ops/layout.h>

// A function of the op table gives on both tables what it should: the CPU's own tests have its results right.

namespace lockstep::test {

/// The op table of kernels/grid, for tensors of the CPU. It is linked with each test program: the one that HostExecutor
/// runs (host_grid_table.cpp), or CudaBackend on a GPU that the CPU emulates (../emulated_gpu/backend.cpp).
Backend& grid_table();
/// The first place of an index outside its range, or -1: what an op of either table has returned or, as GPUs do, taken
/// down under the name of the indices.
std::int64_t first_fault(std::int64_t returned, const std::string& what);

/// What an op writes to, filled before it runs.
using Results = std::vector<Tensor>;

/// Copies that share nothing with what they are of.
inline Results copies(const Results& of) {
  Results result;
  for (const Tensor& tensor : of) {
    result.push_back(Tensor::empty(tensor.shape(), tensor.dtype()));
    copy(tensor, result.back());
  }
  return result;
}

/// Of the data of the families that backend.h marks "real".
inline constexpr DType real_dtypes[] = {DType::f32, DType::bf16};

/// Of these shapes, NaN, so that what is not written shows.
inline Results unwritten(const std::vector<Shape>& shapes, DType dtype = DType::f32) {
  Results result;
  for (const Shape& shape : shapes) result.push_back(Tensor::full(shape, std::nan(""), dtype));
  return result;
}

/// The results of the CPU's table and of kernels/grid, of an op that is given what it writes to.
struct BothTables {
  template <class Op>
  BothTables(const Results& before, const Op& op) : cpu(copies(before)), grid(copies(before)) {
    CpuBackend cpu_table;
    op(static_cast<Backend&>(cpu_table), cpu);
    op(grid_table(), grid);
  }

  Results cpu;
  Results grid;
};

/// The formulas are the same functions of kernels/common: so are all bits, where no order of addition differs.
template <class Op>
void expect_same(const Results& before, const Op& op) {
  const BothTables both(before, op);
  for (std::size_t i = 0; i < both.cpu.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_same_bits(both.grid[i], both.cpu[i]);
  }
}

///@{
/// The same of shapes whose elements the op all writes, f32 or of `dtype`.
template <class Op>
void expect_same_results(DType dtype, const std::vector<Shape>& shapes, const Op& op) {
  expect_same(unwritten(shapes, dtype), op);
}
template <class Op>
void expect_same_results(const std::vector<Shape>& shapes, const Op& op) {
  expect_same_results(DType::f32, shapes, op);
}
///@}

/// Equal up to the rounding of sums of `length` terms; 1 where both tables add in f64. Results of `dtype`.
template <class Op>
void expect_near(const std::vector<Shape>& shapes, std::int64_t length, const Op& op, DType dtype = DType::f32) {
  const BothTables both(unwritten(shapes, dtype), op);
  for (std::size_t i = 0; i < both.cpu.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_close(both.grid[i], both.cpu[i].to_vector<double>(), length);
  }
}

/// f32 that are whole numbers of -3 to 3: sums of a million products of two are exact, whatever their order.
inline Tensor whole_numbers(const Shape& shape, unsigned seed) {
  const Tensor x = random_tensor(shape, seed, -3.4, 3.4);
  for (float& value : x.span<float>()) value = std::round(value);
  return x;
}

/// i64 in [0, bound).
inline Tensor random_indices(std::int64_t n, std::int64_t bound, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(generator()) % bound;
  return Tensor::from(values, {n});
}

}  // namespace lockstep::test
