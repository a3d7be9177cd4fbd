#include <algorithm>
#include <array>
#include <functional>

#include <kernels/cases/dtypes.h>
#include <kernels/cases/op_case.h>
#include <kernels/cases/sources.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/pad.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/indexing/diagonal.h>

namespace lockstep::test {
namespace {

/// A row of an op that moves the elements of a tensor of `shape` to those of `result`.
OpCase move_case(const std::string& name, const Shape& shape, Op run, const Shape& result, const Source& source) {
  return {.name = name,
          .inputs = {random_tensor(shape, 1)},
          .run = std::move(run),
          .reference = moved(result, source),
          .takes_any_dtype = true};
}

/// A row of an op that gives the same elements another shape.
OpCase view_case(const std::string& name, const Shape& shape, Op run) {
  OpCase c = move_case(name, shape, std::move(run), {shape.elements()}, [](const Shape& at) { return at[0]; });
  c.is_view = true;
  return c;
}

std::vector<OpCase> view_cases() {
  std::vector<OpCase> cases{view_case("expand_dims in the middle", {2, 3}, [](In in) { return expand_dims(in[0], 1); }),
                            view_case("expand_dims at the end", {2, 3}, [](In in) { return expand_dims(in[0], -1); }),
                            view_case("expand_dims of several axes", {2, 3},
                                      [](In in) {
                                        return expand_dims(in[0], {-1, 0, 2});
                                      }),
                            view_case("squeeze", {2, 1, 3, 1}, [](In in) { return squeeze(in[0]); }),
                            view_case("squeeze of an axis", {2, 1, 3, 1}, [](In in) { return squeeze(in[0], {-1}); }),
                            move_case(
                                "moveaxis", {2, 3, 4}, [](In in) { return moveaxis(in[0], 0, -1); }, {3, 4, 2},
                                [](const Shape& at) {
                                  return number_of({at[2], at[0], at[1]}, {2, 3, 4});
                                }),
                            move_case(
                                "moveaxis of several axes", {2, 3, 4},
                                [](In in) {
                                  return moveaxis(in[0], {0, 2}, {-1, 0});
                                },
                                {4, 3, 2},
                                [](const Shape& at) {
                                  return number_of({at[2], at[1], at[0]}, {2, 3, 4});
                                }),
                            move_case(
                                "swapaxes", {2, 3, 4}, [](In in) { return swapaxes(in[0], -1, 0); }, {4, 3, 2},
                                [](const Shape& at) {
                                  return number_of({at[2], at[1], at[0]}, {2, 3, 4});
                                }),
                            move_case(
                                "broadcast_to", {3, 1},
                                [](In in) {
                                  return broadcast_to(in[0], {2, 3, 4});
                                },
                                {2, 3, 4}, [](const Shape& at) { return at[1]; }),
                            move_case(
                                "broadcast_to no elements", {1, 3, 1},
                                [](In in) {
                                  return broadcast_to(in[0], {0, 3, 4});
                                },
                                {0, 3, 4}, [](const Shape& at) { return at[1]; }),
                            move_case(
                                "unstack the second", {4, 3}, [](In in) { return unstack(in[0], 1)[1]; }, {4},
                                [](const Shape& at) { return at[0] * 3 + 1; })};
  for (OpCase& c : cases) c.is_view = true;
  for (OpCase& c : cases)
    if (c.function() == "broadcast_to") {
      c.check = {.length = 8};
      c.takes_no_rows = false;  // the shape of the result has a size for the first axis
    }
  return cases;
}

/// Three tensors (2, 3) along a new axis.
OpCase stack_case(int axis) {
  Shape result{2, 3};
  result.push_back(1);
  for (int after = 2; after > axis; --after) std::swap(result[after], result[after - 1]);
  result[axis] = 3;
  return {.name = fmt::format("stack along {}", axis),
          .inputs = {random_tensor({2, 3}, 1), random_tensor({2, 3}, 2), random_tensor({2, 3}, 3)},
          .run = [=](In in) { return stack(in, axis); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for_each_place(result, [&](const Shape& at) {
                  const std::int64_t row = at[axis == 0 ? 1 : 0];
                  const std::int64_t column = at[axis == 2 ? 1 : 2];
                  y.push_back(in[static_cast<std::size_t>(at[axis])][static_cast<std::size_t>(row * 3 + column)]);
                });
                return y;
              },
          .data = 3,
          .takes_any_dtype = true,
          .nan_spreads = false};
}

std::vector<OpCase> copy_cases() {
  const Shape x{2, 3, 4};
  std::vector<OpCase> cases{move_case(
                                "tile", x,
                                [](In in) {
                                  return tile(in[0], {2, 1, 3});
                                },
                                {4, 3, 12},
                                [=](const Shape& at) {
                                  return number_of({at[0] % 2, at[1], at[2] % 4}, x);
                                }),
                            move_case(
                                "tile of the last axis", x, [](In in) { return tile(in[0], {3}); }, {2, 3, 12},
                                [=](const Shape& at) {
                                  return number_of({at[0], at[1], at[2] % 4}, x);
                                }),
                            move_case(
                                "tile along further axes", {5},
                                [](In in) {
                                  return tile(in[0], {2, 2});
                                },
                                {2, 10}, [](const Shape& at) { return at[1] % 5; }),
                            move_case(
                                "repeat along the first axis", x, [](In in) { return repeat(in[0], 3, 0); }, {6, 3, 4},
                                [=](const Shape& at) {
                                  return number_of({at[0] / 3, at[1], at[2]}, x);
                                }),
                            move_case(
                                "repeat along the last axis", x, [](In in) { return repeat(in[0], 2, -1); }, {2, 3, 8},
                                [=](const Shape& at) {
                                  return number_of({at[0], at[1], at[2] / 2}, x);
                                }),
                            move_case(
                                "repeat of each slice a number of times", x,
                                [](In in) {
                                  return repeat(in[0], {2, 0, 3}, 1);
                                },
                                {2, 5, 4},
                                [=](const Shape& at) {
                                  return number_of({at[0], at[1] < 2 ? 0 : 2, at[2]}, x);
                                }),
                            move_case(
                                "repeat of all elements", x, [](In in) { return repeat(in[0], 2); }, {48},
                                [](const Shape& at) { return at[0] / 2; }),
                            move_case(
                                "flip", x, [](In in) { return flip(in[0]); }, x,
                                [=](const Shape& at) {
                                  return number_of({1 - at[0], 2 - at[1], 3 - at[2]}, x);
                                }),
                            move_case(
                                "flip of an axis", x, [](In in) { return flip(in[0], {-2}); }, x,
                                [=](const Shape& at) {
                                  return number_of({at[0], 2 - at[1], at[2]}, x);
                                }),
                            move_case(
                                "roll forward", x, [](In in) { return roll(in[0], 3, 2); }, x,
                                [=](const Shape& at) {
                                  return number_of({at[0], at[1], (at[2] + 1) % 4}, x);
                                }),
                            move_case(
                                "roll backward", x, [](In in) { return roll(in[0], -7, 1); }, x,
                                [=](const Shape& at) {
                                  return number_of({at[0], (at[1] + 7) % 3, at[2]}, x);
                                }),
                            move_case(
                                "roll along several axes", x,
                                [](In in) {
                                  return roll(in[0], {3, -7, 2}, {2, 1, -1});
                                },
                                x,
                                [=](const Shape& at) {
                                  return number_of({at[0], (at[1] + 7) % 3, (at[2] + 3) % 4}, x);
                                }),
                            move_case(
                                "roll of all elements", x, [](In in) { return roll(in[0], 5); }, x,
                                [=](const Shape& at) { return (number_of(at, x) + 19) % 24; })};
  for (OpCase& c : cases) c.check = {.length = 6};
  for (int axis = 0; axis < 3; ++axis) cases.push_back(stack_case(axis));
  return cases;
}

/// The element of an axis of n elements that is at `place` of it padded in `mode`; -1 outside it with constants.
std::int64_t padded_from(PadMode mode, std::int64_t place, std::int64_t n) {
  if (place >= 0 && place < n) return place;
  switch (mode) {
    case PadMode::constant:
      return -1;
    case PadMode::reflect:
      return place < 0 ? -place : 2 * n - 2 - place;
    case PadMode::symmetric:
      return place < 0 ? -place - 1 : 2 * n - 1 - place;
    case PadMode::edge:
      return place < 0 ? 0 : n - 1;
  }
  return -1;
}

OpCase pad_case(const char* name, PadMode mode, const std::vector<PadWidth>& widths, double value) {
  const Shape x{3, 2, 4};
  Shape result = x;
  for (int axis = 0; axis < 3; ++axis)
    result[axis] += widths[static_cast<std::size_t>(axis)].before + widths[static_cast<std::size_t>(axis)].after;
  OpCase c = move_case(name, x, [=](In in) { return pad(in[0], widths, mode, value); }, result, {});
  c.reference = [=](const Values& in) {
    std::vector<double> y;
    for_each_place(result, [&](const Shape& at) {
      Shape from = at;
      bool outside = false;
      for (int axis = 0; axis < 3; ++axis) {
        from[axis] = padded_from(mode, at[axis] - widths[static_cast<std::size_t>(axis)].before, x[axis]);
        outside = outside || from[axis] < 0;
      }
      y.push_back(outside ? value : in[0][static_cast<std::size_t>(number_of(from, x))]);
    });
    return y;
  };
  c.check = {.length = 27};
  c.takes_no_rows = widths[0].before + widths[0].after == 0;
  c.nan_spreads = mode != PadMode::constant;
  return c;
}

OpCase triangle_case(const char* name, std::int64_t k, Op run, const std::function<bool(std::int64_t)>& keeps) {
  const Shape x{2, 3, 5};
  OpCase c = move_case(fmt::format("{} from diagonal {}", name, k), x, std::move(run), x,
                       [=](const Shape& at) { return keeps(at[2] - at[1] - k) ? number_of(at, x) : -1; });
  c.nan_spreads = false;
  return c;
}

std::vector<OpCase> triangle_cases() {
  std::vector<OpCase> cases;
  for (const std::int64_t k : {-1, 0, 2}) {
    cases.push_back(triangle_case(
        "tril", k, [=](In in) { return tril(in[0], k); }, [](std::int64_t right) { return right <= 0; }));
    cases.push_back(triangle_case(
        "triu", k, [=](In in) { return triu(in[0], k); }, [](std::int64_t right) { return right >= 0; }));
  }
  return cases;
}

/// Of matrices with three rows along axis 2 and five columns along axis 0.
OpCase diagonal_case(std::int64_t offset) {
  const std::int64_t count = std::min(3 + std::min<std::int64_t>(offset, 0), 5 - std::max<std::int64_t>(offset, 0));
  OpCase c = move_case(
      fmt::format("diagonal {}", offset), {5, 2, 3}, [=](In in) { return diagonal(in[0], offset, 2, 0); }, {2, count},
      [=](const Shape& at) {
        return number_of({at[1] + std::max<std::int64_t>(offset, 0), at[0], at[1] - std::min<std::int64_t>(offset, 0)},
                         {5, 2, 3});
      });
  c.takes_no_rows = false;  // the first axis of the result is the second of the input
  return c;
}

OpCase diag_case(std::int64_t k) {
  const std::int64_t size = 3 + std::abs(k);
  OpCase c = move_case(
      fmt::format("diag {} of a vector", k), {3}, [=](In in) { return diag(in[0], k); }, {size, size},
      [=](const Shape& at) { return at[1] - at[0] == k ? std::min(at[0], at[1]) : -1; });
  c.nan_spreads = false;
  c.takes_no_rows = k == 0;
  return c;
}

OpCase trace_case() {
  return {.name = "trace",
          .inputs = {random_tensor({2, 3, 4}, 1)},
          .run = [](In in) { return trace(in[0], 1, -2, -1); },
          .reference =
              [](const Values& in) {
                const std::vector<double>& x = in[0];
                return std::vector<double>{x[1] + x[6] + x[11], x[13] + x[18] + x[23]};
              },
          .check = {.length = 3},
          .takes_any_dtype = true,
          .give_i32 = {DType::u8, DType::boolean}};
}

std::vector<OpCase> diagonal_cases() {
  std::vector<OpCase> cases{trace_case()};
  for (const std::int64_t k : {-2, 0, 1}) {
    cases.push_back(diagonal_case(k));
    cases.push_back(diag_case(k));
  }
  cases.push_back(diagonal_case(4));
  cases.push_back(move_case(
      "diagonal of no matrices", {3, 0, 4}, [](In in) { return diagonal(in[0], 1, 0, 2); }, {0, 3},
      [](const Shape& at) { return at[1]; }));
  cases.back().takes_no_rows = false;  // the first axis of the result is the second of the input
  cases.push_back(move_case(
      "diag of a matrix", {3, 4}, [](In in) { return diag(in[0]); }, {3}, [](const Shape& at) { return at[0] * 5; }));
  return cases;
}

/// The product of the results for vectors of 2, 3 and 4 elements.
OpCase meshgrid_case(GridIndexing indexing) {
  const bool exchanged = indexing == GridIndexing::xy;
  return {.name = fmt::format("multiply the grids of meshgrid {}", exchanged ? "xy" : "ij"),
          .inputs = {random_tensor({2}, 1), random_tensor({3}, 2), random_tensor({4}, 3)},
          .run =
              [=](In in) {
                const std::vector<Tensor> grids = meshgrid(in, indexing);
                return multiply(multiply(grids[0], grids[1]), grids[2]);
              },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for_each_place(exchanged ? Shape{3, 2, 4} : Shape{2, 3, 4}, [&](const Shape& at) {
                  const auto of = [&](std::size_t vector, int axis) {
                    return in[vector][static_cast<std::size_t>(at[axis])];
                  };
                  y.push_back(of(0, exchanged ? 1 : 0) * of(1, exchanged ? 0 : 1) * of(2, 2));
                });
                return y;
              },
          .check = {.length = 12},
          .data = 3,
          .calls_first = "meshgrid",
          .takes_any_dtype = true};
}

OpCase slice_update_case(std::int64_t rows) {
  const Shape x{3, 4, 5};
  const Shape updates{rows, 4, 2};
  return {.name = fmt::format("slice_update of {} rows", rows),
          .inputs = {random_tensor(x, 1), random_tensor(updates, 2)},
          .run =
              [](In in) {
                return slice_update(in[0], {1, 0, 2}, in[1]);
              },
          .reference =
              [=](const Values& in) {
                std::vector<double> y = in[0];
                for_each_place(updates, [&](const Shape& at) {
                  y[static_cast<std::size_t>(number_of({at[0] + 1, at[1], at[2] + 2}, x))] =
                      in[1][static_cast<std::size_t>(number_of(at, updates))];
                });
                return y;
              },
          .data = 2,
          .takes_no_rows = false,
          .takes_any_dtype = true,
          .nan_spreads = false};
}

OpCase stop_gradient_case(DType dtype) {
  const Shape x{2, 3, 4};
  return {.name = fmt::format("stop_gradient of {}", name(dtype)),
          .inputs = {cast(random_tensor(x, 1, 0, 4), dtype)},
          .run = [](In in) { return stop_gradient(in[0]); },
          .reference = moved(x, [=](const Shape& at) { return number_of(at, x); }),
          .is_view = true,
          .gives = dtype};
}

}  // namespace

std::vector<OpCase> shape_cases() {
  std::vector<OpCase> cases = view_cases();
  for (OpCase& c : copy_cases()) cases.push_back(std::move(c));
  cases.push_back(pad_case("pad with zeros", PadMode::constant, {{1, 2}, {0, 0}, {0, 3}}, 0));
  cases.push_back(pad_case("pad with a number", PadMode::constant, {{0, 0}, {1, 2}, {2, 0}}, -2));
  cases.push_back(pad_case("pad with edges", PadMode::edge, {{1, 4}, {0, 2}, {1, 0}}, 0));
  cases.push_back(pad_case("pad with reflections", PadMode::reflect, {{0, 0}, {1, 0}, {2, 3}}, 0));
  cases.push_back(pad_case("pad symmetrically", PadMode::symmetric, {{1, 3}, {0, 0}, {4, 2}}, 0));
  for (OpCase& c : triangle_cases()) cases.push_back(std::move(c));
  for (OpCase& c : diagonal_cases()) cases.push_back(std::move(c));
  for (const GridIndexing indexing : {GridIndexing::xy, GridIndexing::ij}) cases.push_back(meshgrid_case(indexing));
  for (const std::int64_t rows : {2, 0}) cases.push_back(slice_update_case(rows));
  for (const DType dtype : all_dtypes) cases.push_back(stop_gradient_case(dtype));
  return cases;
}

}  // namespace lockstep::test
