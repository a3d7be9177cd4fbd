#pragma once

#include <lockstep/kernels/cpu/vector.h>

// One axis of Winograd's minimal filtering F(4x4, 3x3), i.e. F(4, 3): computes four results of a window of three taps
// from six elements. Elements and taps are each transformed into six numbers, one per interpolation point; the
// convolution then becomes one product of two numbers per point. The structs below multiply by the matrices B, G and A
// of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), for the points 0, 1/2, -1/2, 3/2, -3/2
// and infinity. With the paper's points 0, 1, -1, 2, -2 and infinity the errors are twice as large.

namespace lockstep::winograd {

// Vectors of channels, because compilers do not vectorize loops over whole tiles.
using cpu::Lanes;
using cpu::lanes;

/// Points per axis.
inline constexpr int points = 6;
/// Results of a tile per axis.
inline constexpr int tile = 4;
/// Taps of the window per axis.
inline constexpr int taps = 3;

/// Transforms six elements into one number per point: multiplies by the transpose of B.
struct ElementsLine {
  static constexpr int in = points, out = points;
  static void apply(const Lanes* d, Lanes* v) {
    const Lanes even = d[4] - 2.25F * d[2];
    const Lanes odd = 0.5F * (d[3] - 2.25F * d[1]);
    const Lanes far_even = d[4] - 0.25F * d[2];
    const Lanes far_odd = 1.5F * (d[3] - 0.25F * d[1]);
    v[0] = 0.5625F * d[0] - 2.5F * d[2] + d[4];
    v[1] = even + odd;
    v[2] = even - odd;
    v[3] = far_even + far_odd;
    v[4] = far_even - far_odd;
    v[5] = 0.5625F * d[1] - 2.5F * d[3] + d[5];
  }
};

/// Computes the values at the points from taps: multiplies by G.
struct TapsLine {
  static constexpr int in = taps, out = points;
  static void apply(const Lanes* g, Lanes* u) {
    const Lanes even = -g[0] - 0.25F * g[2];
    const Lanes odd = -0.5F * g[1];
    const Lanes far_even = (1.0F / 9) * g[0] + 0.25F * g[2];
    const Lanes far_odd = (1.0F / 6) * g[1];
    u[0] = (16.0F / 9) * g[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = far_even + far_odd;
    u[4] = far_even - far_odd;
    u[5] = g[2];
  }
};

/// Computes the gradient of the taps from the gradient of the values at the points: multiplies by the transpose of G.
struct TapsGradientLine {
  static constexpr int in = points, out = taps;
  static void apply(const Lanes* u, Lanes* g) {
    const Lanes sum = u[1] + u[2];
    const Lanes far_sum = u[3] + u[4];
    g[0] = (16.0F / 9) * u[0] - sum + (1.0F / 9) * far_sum;
    g[1] = 0.5F * (u[2] - u[1]) + (1.0F / 6) * (u[3] - u[4]);
    g[2] = 0.25F * (far_sum - sum) + u[5];
  }
};

/// Computes results from the products at the points: multiplies by the transpose of A.
struct ResultsLine {
  static constexpr int in = points, out = tile;
  static void apply(const Lanes* m, Lanes* y) {
    const Lanes sum = m[1] + m[2];
    const Lanes difference = m[1] - m[2];
    const Lanes far_sum = m[3] + m[4];
    const Lanes far_difference = m[3] - m[4];
    y[0] = m[0] + sum + far_sum;
    y[1] = 0.5F * difference + 1.5F * far_difference;
    y[2] = 0.25F * sum + 2.25F * far_sum;
    y[3] = 0.125F * difference + 3.375F * far_difference + m[5];
  }
};

/// Computes the gradient of the products at the points from the gradient of the results: multiplies by A.
struct ResultsGradientLine {
  static constexpr int in = tile, out = points;
  static void apply(const Lanes* y, Lanes* m) {
    const Lanes even = y[0] + 0.25F * y[2];
    const Lanes odd = 0.5F * y[1] + 0.125F * y[3];
    const Lanes far_even = y[0] + 2.25F * y[2];
    const Lanes far_odd = 1.5F * y[1] + 3.375F * y[3];
    m[0] = y[0];
    m[1] = even + odd;
    m[2] = even - odd;
    m[3] = far_even + far_odd;
    m[4] = far_even - far_odd;
    m[5] = y[3];
  }
};

/// Applies `Line`, one of the structs above, along both axes of a tile. load(row, column, lanes) reads an element;
/// store(row, column, lanes) writes a result.
template <class Line, class Load, class Store>
void along_both_axes(const Load& load, const Store& store) {
  Lanes half[Line::out][Line::in];
  for (int column = 0; column < Line::in; ++column) {
    Lanes from[Line::in];
    Lanes to[Line::out];
    for (int row = 0; row < Line::in; ++row) load(row, column, from[row]);
    Line::apply(from, to);
    for (int row = 0; row < Line::out; ++row) half[row][column] = to[row];
  }
  for (int row = 0; row < Line::out; ++row) {
    Lanes to[Line::out];
    Line::apply(half[row], to);
    for (int column = 0; column < Line::out; ++column) store(row, column, to[column]);
  }
}

}  // namespace lockstep::winograd
