#pragma once

#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

///@{
/// x (..., rows, columns), of any dtype, with zeros above (tril) or below (triu) diagonal k, which is k columns to the
/// right of the main diagonal. Differentiable. Throw InvalidArgument for undefined tensors and fewer than two axes.
Tensor tril(const Tensor& x, std::int64_t k = 0);
Tensor triu(const Tensor& x, std::int64_t k = 0);
///@}

///@{
/// A matrix (rows, columns), or (rows, rows), with ones on diagonal k (see tril) and zeros elsewhere, on the calling
/// thread's device. Throw InvalidArgument for negative sizes.
Tensor eye(std::int64_t rows, std::int64_t columns, std::int64_t k = 0, DType dtype = DType::f32);
inline Tensor eye(std::int64_t rows) { return eye(rows, rows); }
///@}

}  // namespace lockstep
