#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/array.h>

namespace lockstep::test {
namespace {

std::vector<double> same_elements(const Values& in) { return in[0]; }

/// The slice [begin, end) of an axis.
Reference slice_of(const Shape& shape, int axis, std::int64_t begin, std::int64_t end) {
  return [=](const Values& in) {
    std::int64_t inner = 1;
    for (int after = shape.normalize_axis(axis) + 1; after < shape.rank(); ++after) inner *= shape[after];
    std::vector<double> y;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const std::int64_t position = i / inner % shape.dim(axis);
      if (position >= begin && position < end) y.push_back(in[0][static_cast<std::size_t>(i)]);
    }
    return y;
  };
}

OpCase slice_case(int axis) {
  const Shape shape{3, 5, 4};
  return {.name = fmt::format("slice along {}", axis),
          .inputs = {random_tensor(shape, 1)},
          .run = [=](In in) { return slice(in[0], axis, 1, 3); },
          .reference = slice_of(shape, axis, 1, 3),
          .check = {.samples = 60},
          .takes_no_rows = shape.normalize_axis(axis) != 0,
          .takes_any_dtype = true,
          .is_view = true};
}

/// Concatenates parts of sizes 2, 0, 3 and 1.
OpCase concat_case(int axis) {
  std::vector<Tensor> parts;
  for (const std::int64_t size : {2, 0, 3, 1}) {
    Shape shape{2, 3, 4};
    shape[shape.normalize_axis(axis)] = size;
    parts.push_back(random_tensor(shape, 10 + static_cast<unsigned>(size)));
  }
  std::int64_t outer = 1;
  for (int before = 0; before < parts[0].shape().normalize_axis(axis); ++before) outer *= parts[0].dim(before);
  return {.name = fmt::format("concatenate along {}", axis),
          .inputs = parts,
          .run = [=](In in) { return concatenate(in, axis); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (std::int64_t o = 0; o < outer; ++o)
                  for (const auto& part : in) {
                    const auto length = static_cast<std::ptrdiff_t>(part.size()) / outer;
                    y.insert(y.end(), part.begin() + o * length, part.begin() + (o + 1) * length);
                  }
                return y;
              },
          .data = parts.size(),
          .takes_any_dtype = true,
          .nan_spreads = false};
}

/// Axis i of the result is axis axes[i] of x (2, 3, 4).
OpCase transpose_case(const char* name, const std::vector<int>& axes, Op run) {
  const Shape shape{2, 3, 4};
  return {.name = name,
          .inputs = {random_tensor(shape, 1)},
          .run = std::move(run),
          .reference =
              [=](const Values& in) {
                const Shape strides = shape.dense_strides();
                std::vector<double> y;
                for (std::int64_t i = 0; i < shape[axes[0]]; ++i)
                  for (std::int64_t j = 0; j < shape[axes[1]]; ++j)
                    for (std::int64_t k = 0; k < shape[axes[2]]; ++k)
                      y.push_back(in[0][static_cast<std::size_t>(i * strides[axes[0]] + j * strides[axes[1]] +
                                                                 k * strides[axes[2]])]);
                return y;
              },
          .takes_any_dtype = true,
          .is_view = true};
}

OpCase zero_pad2d_case() {
  return {.name = "zero_pad2d",
          .inputs = {random_tensor({2, 3, 4, 5}, 1)},
          .run =
              [](In in) {
                return zero_pad2d(in[0], {1, 2, 0, 3});
              },
          .reference =
              [](const Values& in) {
                std::vector<double> y(2 * 6 * 7 * 5, 0);
                for (std::size_t i = 0; i < in[0].size(); ++i) {
                  const std::size_t channel = i % 5, column = i / 5 % 4, row = i / 20 % 3, image = i / 60;
                  y[((image * 6 + row + 1) * 7 + column) * 5 + channel] = in[0][i];
                }
                return y;
              },
          .nan_spreads = false};
}

OpCase shape_case(const char* name, const Shape& shape, Tensor (*run)(const Tensor&)) {
  return {.name = name,
          .inputs = {random_tensor(shape, 1)},
          .run = [=](In in) { return run(in[0]); },
          .reference = same_elements,
          .takes_any_dtype = true,
          .is_view = true};
}

}  // namespace

std::vector<OpCase> array_cases() {
  std::vector<OpCase> cases{
      shape_case("reshape", {2, 3, 4},
                 [](const Tensor& x) {
                   return reshape(x, {-1, 6, 2});
                 }),
      shape_case("flatten", {2, 3, 4}, flatten),
      {.name = "reshape of columns",
       .inputs = {random_tensor({4, 6}, 1)},
       .run =
           [](In in) {
             return reshape(slice(in[0], 1, 1, 5), {-1, 2});
           },
       .reference = slice_of({4, 6}, 1, 1, 5),
       .calls_first = "slice",
       .takes_any_dtype = true,
       .is_view = true},
      {.name = "dense_copy of columns",
       .inputs = {random_tensor({4, 6}, 1)},
       .run = [](In in) { return dense_copy(slice(in[0], 1, 1, 5)); },
       .reference = slice_of({4, 6}, 1, 1, 5),
       .calls_first = "slice",
       .takes_any_dtype = true},
      {.name = "split in three, the second",
       .inputs = {random_tensor({4, 6}, 1)},
       .run = [](In in) { return split(in[0], 3, 1)[1]; },
       .reference = slice_of({4, 6}, 1, 2, 4),
       .takes_any_dtype = true,
       .is_view = true},
      {.name = "split at two indices, the second part",
       .inputs = {random_tensor({4, 6}, 1)},
       .run =
           [](In in) {
             return split(in[0], {1, 5}, 1)[1];
           },
       .reference = slice_of({4, 6}, 1, 1, 5),
       .takes_any_dtype = true,
       .is_view = true},
      transpose_case("transpose", {2, 1, 0}, [](In in) { return transpose(in[0]); }),
      transpose_case("transpose to (1, 2, 0)", {1, 2, 0},
                     [](In in) {
                       return transpose(in[0], {1, -1, 0});
                     }),
      zero_pad2d_case(),
  };
  for (int axis = -3; axis < 3; ++axis) {
    cases.push_back(slice_case(axis));
    cases.push_back(concat_case(axis));
  }
  return cases;
}

}  // namespace lockstep::test
