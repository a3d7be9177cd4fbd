#include <kernels/cases/dtypes.h>
#include <kernels/cases/op_case.h>
#include <kernels/cases/sources.h>

#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/kernels/indexing/scatter.h>
#include <lockstep/kernels/indexing/take.h>

namespace lockstep::test {
namespace {

OpCase embedding_case(std::int64_t rows, std::int64_t width, std::int64_t count) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(i * i % rows);
  return {.name = fmt::format("embedding_lookup of {} in ({}, {})", count, rows, width),
          .inputs = {random_tensor({rows, width}, 1)},
          .run = [=, in_table = Tensor::from(ids, {count})](In in) { return embedding_lookup(in[0], in_table); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (const std::int64_t id : ids)
                  for (std::int64_t c = 0; c < width; ++c) y.push_back(in[0][static_cast<std::size_t>(id * width + c)]);
                return y;
              },
          .check = {.length = count + 1},
          .data = 0,
          .takes_no_rows = false,
          .is_large = rows * width > 10'000};
}

/// `count` indices into an axis of `size` elements, some of them equal, some negative.
std::vector<std::int64_t> indices_of(std::int64_t count, std::int64_t size) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * i % size - (i % 3 == 1 ? size : 0));
  return indices;
}

std::int64_t from_front(std::int64_t index, std::int64_t size) { return index < 0 ? index + size : index; }

/// Takes slices of x along `axis` (not negative) at indices of shape (2, 3).
OpCase take_case(const Shape& x, int axis) {
  const std::vector<std::int64_t> indices = indices_of(6, x[axis]);
  Shape result;
  for (int i = 0; i < x.rank(); ++i) {
    result.push_back(i == axis ? 2 : x[i]);
    if (i == axis) result.push_back(3);
  }
  const auto source = [=](const Shape& at) {
    Shape from;
    for (int i = 0; i < result.rank(); ++i)
      if (i != axis + 1) from.push_back(at[i]);
    from[axis] = from_front(indices[static_cast<std::size_t>(at[axis] * 3 + at[axis + 1])], x[axis]);
    return number_of(from, x);
  };
  return {.name = fmt::format("take along {} of {}", axis, x),
          .inputs = {random_tensor(x, 1)},
          .run = [=, in_axis = Tensor::from(indices, {2, 3})](In in) { return take(in[0], in_axis, axis); },
          .reference = moved(result, source),
          .check = {.length = 6},
          .takes_no_rows = axis != 0,
          .takes_any_dtype = true};
}

/// Takes elements of x (3, 4) at indices of shape (2, 3).
OpCase take_of_all_case() {
  const std::vector<std::int64_t> indices = indices_of(6, 12);
  const auto source = [=](const Shape& at) {
    return from_front(indices[static_cast<std::size_t>(number_of(at, {2, 3}))], 12);
  };
  return {.name = "take of all elements",
          .inputs = {random_tensor({3, 4}, 1)},
          .run = [in_x = Tensor::from(indices, {2, 3})](In in) { return take(in[0], in_x); },
          .reference = moved({2, 3}, source),
          .check = {.length = 6},
          .takes_no_rows = false,
          .takes_any_dtype = true};
}

/// Takes elements of x (4, 3) along `axis` at indices of a shape that broadcasts to x's along the other axis.
OpCase take_along_axis_case(int axis, const Shape& indices_shape, const Shape& result) {
  const Shape x{4, 3};
  const std::vector<std::int64_t> indices = indices_of(indices_shape.elements(), x[axis]);
  const auto source = [=](const Shape& at) {
    Shape in_indices = at;
    for (int i = 0; i < 2; ++i)
      if (indices_shape[i] == 1) in_indices[i] = 0;
    Shape from = at;
    from[axis] = from_front(indices[static_cast<std::size_t>(number_of(in_indices, indices_shape))], x[axis]);
    return number_of(from, x);
  };
  return {.name = fmt::format("take_along_axis {} at {}", axis, indices_shape),
          .inputs = {random_tensor(x, 1)},
          .run = [=, at = Tensor::from(indices, indices_shape)](In in) { return take_along_axis(in[0], at, axis); },
          .reference = moved(result, source),
          .check = {.length = result[axis]},
          .takes_no_rows = false,  // the result has as many rows as the indices
          .takes_any_dtype = true};
}

/// take_along_axis of one row of x (1, 3), which broadcasts to those of the indices.
OpCase take_from_broadcast_case() {
  const std::vector<std::int64_t> indices{2, 0, -1, 1};
  const auto source = [=](const Shape& at) {
    return from_front(indices[static_cast<std::size_t>(number_of(at, {2, 2}))], 3);
  };
  return {.name = "take_along_axis of a row",
          .inputs = {random_tensor({1, 3}, 1)},
          .run = [at = Tensor::from(indices, {2, 2})](In in) { return take_along_axis(in[0], at, 1); },
          .reference = moved({2, 2}, source),
          .check = {.length = 4},
          .takes_no_rows = false,
          .takes_any_dtype = true};
}

/// Pairs of indices that choose rows of a tensor (3, 4, width).
const std::vector<std::int64_t>& pairs() {
  static const std::vector<std::int64_t> all{0, 1, 2, -1, 0, 1, 1, 0, -3, 1};
  return all;
}

/// The number of the row that pair i chooses.
std::size_t row_of(std::size_t i) {
  return static_cast<std::size_t>(from_front(pairs()[2 * i], 3) * 4 + from_front(pairs()[2 * i + 1], 4));
}

/// The first `count` pairs as a tensor of indices.
Tensor first_pairs(std::size_t count) {
  const auto end = pairs().begin() + static_cast<std::ptrdiff_t>(2 * count);
  return Tensor::from(std::vector<std::int64_t>(pairs().begin(), end), {static_cast<std::int64_t>(count), 2});
}

OpCase scatter_case(std::size_t count, std::size_t width) {
  const auto columns = static_cast<std::int64_t>(width);
  return {.name = fmt::format("scatter of {} rows of {}", count, width),
          .inputs = {random_tensor({static_cast<std::int64_t>(count), columns}, 1)},
          .run =
              [=, at = first_pairs(count)](In in) {
                return scatter(at, in[0], {3, 4, columns});
              },
          .reference =
              [=](const Values& in) {
                std::vector<double> y(12 * width, 0);
                for (std::size_t i = 0; i < count; ++i)
                  for (std::size_t c = 0; c < width; ++c) y[row_of(i) * width + c] += in[0][i * width + c];
                return y;
              },
          .check = {.length = 3},
          .takes_no_rows = false,
          .takes_integers = true,
          .nan_spreads = false};
}

OpCase scatter_update_case(std::size_t count, std::size_t width) {
  const auto columns = static_cast<std::int64_t>(width);
  return {.name = fmt::format("scatter_update of {} rows of {}", count, width),
          .inputs = {random_tensor({3, 4, columns}, 1), random_tensor({static_cast<std::int64_t>(count), columns}, 2)},
          .run = [at = first_pairs(count)](In in) { return scatter_update(in[0], at, in[1]); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y = in[0];
                for (std::size_t i = 0; i < count; ++i)
                  for (std::size_t c = 0; c < width; ++c) y[row_of(i) * width + c] = in[1][i * width + c];
                return y;
              },
          .data = 2,
          .takes_no_rows = false,
          .takes_integers = true,
          .nan_spreads = false};
}

OpCase segment_sum_case(const std::vector<std::int64_t>& ids) {
  const auto rows = static_cast<std::int64_t>(ids.size());
  return {.name = fmt::format("segment_sum of {} rows", rows),
          .inputs = {random_tensor({rows, 3}, 1)},
          .run = [segments = Tensor::from(ids, {rows})](In in) { return segment_sum(in[0], segments, 5); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y(15, 0);
                for (std::size_t i = 0; i < in[0].size(); ++i)
                  y[static_cast<std::size_t>(ids[i / 3]) * 3 + i % 3] += in[0][i];
                return y;
              },
          .check = {.length = 3},
          .takes_no_rows = false,
          .takes_integers = true,
          .nan_spreads = false};
}

/// 1 in the classes of some indices along `axis`. Indices outside of the classes give none.
OpCase one_hot_case(DType indices, int axis, DType gives) {
  const std::vector<std::int64_t> ids{2, 0, -1, 1, 3, 2};
  Shape result{2, 3};
  result.push_back(3);
  for (int after = 2; after > result.normalize_axis(axis); --after) std::swap(result[after], result[after - 1]);
  return {.name = fmt::format("one_hot of {} along {} in {}", name(indices), axis, name(gives)),
          .inputs = {cast(Tensor::from(ids, {2, 3}), indices)},
          .run = [=](In in) { return one_hot(in[0], 3, axis, gives); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for_each_place(result, [&](const Shape& at) {
                  const int place = result.normalize_axis(axis);
                  const std::int64_t row = at[place == 0 ? 1 : 0];
                  const std::int64_t column = at[place == 2 ? 1 : 2];
                  const double id = in[0][static_cast<std::size_t>(row * 3 + column)];
                  y.push_back(id == static_cast<double>(at[place]) ? 1 : 0);
                });
                return y;
              },
          .takes_no_rows = axis != 0,
          .gives = gives,
          .refuses = {DType::f32, DType::bf16, DType::boolean}};
}

std::vector<OpCase> one_hot_cases() {
  std::vector<OpCase> cases;
  for (const DType indices : {DType::i32, DType::i64, DType::u8})
    for (const int axis : {-1, 0, 1}) cases.push_back(one_hot_case(indices, axis, DType::f32));
  for (const DType gives : all_dtypes) cases.push_back(one_hot_case(DType::i64, 1, gives));
  return cases;
}

std::vector<OpCase> cases_with_gradient() {
  return {embedding_case(1, 1, 1),
          embedding_case(7, 3, 20),
          embedding_case(5, 4, 0),
          embedding_case(1000, 33, 2000),
          embedding_case(13, 8192, 9),
          take_of_all_case(),
          take_case({4}, 0),
          take_case({4, 3}, 0),
          take_case({4, 3}, 1),
          take_case({3, 5, 2}, 1),
          large(take_case({40, 50, 60}, 1), 6),
          take_along_axis_case(0, {2, 3}, {2, 3}),
          take_along_axis_case(0, {5, 1}, {5, 3}),
          take_along_axis_case(0, {0, 3}, {0, 3}),
          take_along_axis_case(1, {4, 5}, {4, 5}),
          take_along_axis_case(1, {1, 2}, {4, 2}),
          take_from_broadcast_case(),
          scatter_case(5, 1),
          scatter_case(5, 6),
          scatter_case(0, 3),
          large(scatter_case(5, 5000), 6),
          scatter_update_case(5, 1),
          scatter_update_case(5, 6),
          scatter_update_case(0, 3),
          segment_sum_case({2, 0, 2, 3, 0, 2}),
          segment_sum_case({})};
}

}  // namespace

std::vector<OpCase> indexing_cases() {
  std::vector<OpCase> cases = cases_with_gradient();
  for (OpCase& c : one_hot_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace lockstep::test
