#include "lockstep/kernels/linear_algebra/linear_algebra_kernels.h"

#include <cmath>

#include <lockstep/kernels/executor/shared_kernel.h>

namespace lockstep::kernels {

namespace detail {

/// Two columns of a matrix are orthogonal if their product is at most this number times the product of their lengths.
constexpr double most_correlation = 1e-12;
/// Rotations of all pairs of columns; more than matrices need in practice (about ten).
constexpr int most_sweeps = 40;

/// Squared lengths of two columns.
struct SquaredLengths {
  double first, second;
};

/// One-sided Jacobi method (Hestenes, "Inversion of matrices by biorthogonalization", 1958): rotates pairs of columns
/// until all are orthogonal, the longest first. Then x = w v^T, where the columns of w are those of u times the
/// singular values and v, the product of the rotations, is orthogonal. A team computes a matrix; each of its threads
/// reads and writes the same rows of w and v only.
struct JacobiRotations {
  const float* x;
  float* u;
  float* s;
  float* vh;
  double* w;  ///< (count, n, m): columns of w are contiguous
  double* v;  ///< (count, n, n): columns of v are contiguous
  Index m, n;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index matrix) const {
    double* const columns = w + matrix * n * m;
    double* const basis = v + matrix * n * n;
    const float* const rows = x + matrix * m * n;
    for (Index j = 0; j < n; ++j) {
      team.each(m, [=, this](Index i) { columns[j * m + i] = static_cast<double>(rows[i * n + j]); });
      team.each(n, [=, this](Index i) { basis[j * n + i] = i == j ? 1.0 : 0.0; });
    }
    bool rotated = true;
    for (int sweep = 0; sweep < most_sweeps && rotated; ++sweep) {
      rotated = false;
      for (Index p = 0; p < n; ++p)
        for (Index q = p + 1; q < n; ++q)
          if (rotate(team, columns + p * m, columns + q * m, basis + p * n, basis + q * n)) rotated = true;
    }
    const double zero_or_nan = team.reduce(
        m * n, 0.0, [=](Index i) { return 0 * static_cast<double>(rows[i]); },
        [](double p, double q) { return p + q; });
    for (Index j = 0; j < n; ++j) store(team, matrix, j, columns + j * m, basis + j * n, zero_or_nan);
  }

  /// Makes the columns a and b of w orthogonal, the longer one first, and rotates those of v, too. Returns false if
  /// they are so already.
  template <class Team>
  LOCKSTEP_HOST_DEVICE bool rotate(Team& team, double* a, double* b, double* v_a, double* v_b) const {
    const auto sum = [](SquaredLengths p, SquaredLengths q) {
      return SquaredLengths{p.first + q.first, p.second + q.second};
    };
    const SquaredLengths lengths = team.reduce(
        m, SquaredLengths{},
        [=](Index i) {
          return SquaredLengths{a[i] * a[i], b[i] * b[i]};
        },
        sum);
    const double product = team.reduce(
        m, 0.0, [=](Index i) { return a[i] * b[i]; }, [](double p, double q) { return p + q; });
    const bool exchanged = lengths.first < lengths.second;
    const double limit = most_correlation * std::sqrt(lengths.first) * std::sqrt(lengths.second);
    if (!exchanged && !(std::fabs(product) > limit)) return false;              // also for NaN
    const double cotangent = (lengths.second - lengths.first) / (2 * product);  // of twice the angle; may be infinite
    const double tangent =
        product == 0 ? 0
                     : std::copysign(1.0, cotangent) / (std::fabs(cotangent) + std::sqrt(1 + cotangent * cotangent));
    const double cosine = 1 / std::sqrt(1 + tangent * tangent);
    const double sine = cosine * tangent;
    const auto turn = [=](double* first, double* second) {
      const double kept = cosine * *first - sine * *second;
      const double other = sine * *first + cosine * *second;
      *first = exchanged ? other : kept;
      *second = exchanged ? kept : other;
    };
    team.each(m, [=](Index i) { turn(a + i, b + i); });
    team.each(n, [=](Index i) { turn(v_a + i, v_b + i); });
    return true;
  }

  /// Writes singular value j, column j of u and row j of vh. `zero_or_nan`: 0, or NaN if an element of the matrix is
  /// NaN or infinite; they are then NaN.
  template <class Team>
  LOCKSTEP_HOST_DEVICE void store(Team& team, Index matrix, Index j, const double* column, const double* basis,
                                  double zero_or_nan) const {
    const double length = zero_or_nan + std::sqrt(team.reduce(
                                            m, 0.0, [=](Index i) { return column[i] * column[i]; },
                                            [](double p, double q) { return p + q; }));
    const auto value = static_cast<float>(length);
    team.once([=, this] { s[matrix * n + j] = value; });
    team.each(m, [=, this](Index i) {
      u[(matrix * m + i) * n + j] = value == 0 ? 0.0F : static_cast<float>(column[i] / length);
    });
    team.each(n, [=, this](Index i) {
      vh[(matrix * n + j) * n + i] = static_cast<float>(length != length ? length : basis[i]);
    });
  }
};

}  // namespace detail

template <class Executor>
void SingularValues::run(Executor& on) const {
  const Index count = x.dim(0);
  const Index m = x.dim(1);
  const Index n = x.dim(2);
  const Tensor scratch = Tensor::empty({count * n * (m + n) * static_cast<Index>(sizeof(double))}, DType::u8);
  auto* const w = static_cast<double*>(scratch.raw_data());
  on.teams(count, m,
           detail::JacobiRotations{x.data<float>(), u.data<float>(), s.data<float>(), vh.data<float>(), w,
                                   w + count * n * m, m, n});
}

LOCKSTEP_SHARED_KERNEL(SingularValues)

}  // namespace lockstep::kernels
