#include <algorithm>
#include <cmath>
#include <numbers>

#include <kernels/cases/op_case.h>
#include <kernels/cases/sources.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/crop_and_flip.h>
#include <lockstep/kernels/image/depth_to_space.h>
#include <lockstep/kernels/image/resize.h>

namespace lockstep::test {
namespace {

double sinc_window(double x, double radius) {
  if (x >= radius) return 0;
  const double angle = std::numbers::pi * x;
  return x == 0 ? 1 : std::sin(angle) / angle * std::sin(angle / radius) / (angle / radius);
}

double kernel_at(Interpolation interpolation, double x) {
  switch (interpolation) {
    case Interpolation::nearest:
      break;
    case Interpolation::bilinear:
      return std::max(0.0, 1 - x);
    case Interpolation::bicubic:
      if (x >= 2) return 0;
      return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
    case Interpolation::lanczos3:
      return sinc_window(x, 3);
    case Interpolation::lanczos5:
      return sinc_window(x, 5);
  }
  return 0;
}

/// The weights of the elements of an axis of `from` elements in element i of one of `to`.
std::vector<double> axis_weights(std::int64_t from, std::int64_t to, std::int64_t i, const ResizeOptions& options) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = options.antialias ? std::max(scale, 1.0) : 1;
  std::vector<double> weights(static_cast<std::size_t>(from));
  if (options.interpolation == Interpolation::nearest) {
    weights[static_cast<std::size_t>((2 * i + 1) * from / (2 * to))] = 1;
    return weights;
  }
  double total = 0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double distance = std::abs((static_cast<double>(i) + 0.5) * scale - 0.5 - static_cast<double>(j));
    total += weights[j] = kernel_at(options.interpolation, distance / width);
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

/// Every element of the result as a sum over all pixels of its image (n, height, width, channels).
std::vector<double> plain_resize(const std::vector<double>& x, const Shape& shape, Size2d size,
                                 const ResizeOptions& options) {
  std::vector<double> y;
  for_each_place({shape[0], size.height, size.width, shape[3]}, [&](const Shape& at) {
    const std::vector<double> rows = axis_weights(shape[1], size.height, at[1], options);
    const std::vector<double> columns = axis_weights(shape[2], size.width, at[2], options);
    double sum = 0;
    for (std::int64_t row = 0; row < shape[1]; ++row)
      for (std::int64_t column = 0; column < shape[2]; ++column) {
        const double weight = rows[static_cast<std::size_t>(row)] * columns[static_cast<std::size_t>(column)];
        if (weight != 0) sum += weight * x[static_cast<std::size_t>(number_of({at[0], row, column, at[3]}, shape))];
      }
    y.push_back(sum);
  });
  return y;
}

OpCase resize_case(const char* name, const Shape& shape, Size2d size, const ResizeOptions& options) {
  return {.name = fmt::format("resize {}{}, of {} to {} x {}", name, options.antialias ? " antialiased" : "", shape,
                              size.height, size.width),
          .inputs = {random_tensor(shape, 1)},
          .run = [=](In in) { return resize(in[0], size, options); },
          .reference = [=](const Values& in) { return plain_resize(in[0], shape, size, options); },
          .check = {.length = std::max<std::int64_t>(16, size.height * size.width / (shape[1] * shape[2]) * 4)},
          .takes_any_dtype = options.interpolation == Interpolation::nearest};
}

/// A row whose images (2, 7, 6, 3) are first cropped or padded: to images of the shape `fitted`, whose pixel (0, 0) is
/// pixel (row, column) of the input's. Pixels outside of the input have the value 0.5.
OpCase fitted_case(const char* name, const ResizeOptions& options, const Shape& fitted, std::int64_t row,
                   std::int64_t column) {
  const Shape shape{2, 7, 6, 3};
  const Size2d size{4, 8};
  OpCase c = resize_case(name, shape, size, options);
  c.reference = [=](const Values& in) {
    std::vector<double> pixels;
    for_each_place(fitted, [&](const Shape& at) {
      const Shape from{at[0], at[1] + row, at[2] + column, at[3]};
      const bool inside = from[1] >= 0 && from[1] < shape[1] && from[2] >= 0 && from[2] < shape[2];
      pixels.push_back(inside ? in[0][static_cast<std::size_t>(number_of(from, shape))] : 0.5);
    });
    return plain_resize(pixels, fitted, size, options);
  };
  c.nan_spreads = options.crop_to_aspect_ratio;
  return c;
}

OpCase single_image_case() {
  const Shape shape{4, 5, 2};
  OpCase c = resize_case("one image", {1, 4, 5, 2}, {7, 3}, {});
  c.inputs = {random_tensor(shape, 1)};
  c.takes_no_rows = false;
  return c;
}

/// The element of an axis of n that stands for element k, found step by step; -1 if there is none.
std::int64_t element_for(std::int64_t k, std::int64_t n, FillMode mode) {
  while (k < 0 || k >= n) {
    if (mode == FillMode::constant) return -1;
    if (mode == FillMode::nearest) return k < 0 ? 0 : n - 1;
    if (mode == FillMode::wrap)
      k += k < 0 ? n : -n;
    else
      k = k < 0 ? -1 - k : 2 * n - 1 - k;
  }
  return k;
}

/// Every pixel as a sum over the whole numbers around its position, weighted by their distances.
std::vector<double> plain_transform(const std::vector<double>& x, const Shape& shape, const std::vector<float>& numbers,
                                    const AffineTransformOptions& options) {
  const auto weight = [&](double distance) {
    if (options.interpolation == Interpolation::nearest) return -0.5 < distance && distance <= 0.5 ? 1.0 : 0.0;
    return std::max(0.0, 1 - std::abs(distance));
  };
  std::vector<double> y;
  for_each_place(shape, [&](const Shape& at) {
    const float* const t = numbers.data() + at[0] * 8;
    const auto column = static_cast<double>(at[2]);
    const auto row = static_cast<double>(at[1]);
    const double to_column =
        static_cast<double>(t[0]) * column + static_cast<double>(t[1]) * row + static_cast<double>(t[2]);
    const double to_row =
        static_cast<double>(t[3]) * column + static_cast<double>(t[4]) * row + static_cast<double>(t[5]);
    double sum = 0;
    for (std::int64_t i = -40; i < 40; ++i)
      for (std::int64_t j = -40; j < 40; ++j) {
        const double share = weight(static_cast<double>(i) - to_row) * weight(static_cast<double>(j) - to_column);
        if (share == 0) continue;
        const Shape from{at[0], element_for(i, shape[1], options.fill_mode),
                         element_for(j, shape[2], options.fill_mode), at[3]};
        const bool inside = from[1] >= 0 && from[2] >= 0;
        sum += share * (inside ? x[static_cast<std::size_t>(number_of(from, shape))] : options.fill_value);
      }
    y.push_back(sum);
  });
  return y;
}

/// The first `images` of three.
OpCase affine_case(const char* name, const AffineTransformOptions& options, std::int64_t images = 3) {
  const Shape shape{images, 5, 6, 2};
  const std::vector<float> numbers{1,     0,     -1.25F, 0,    1,    2.375F, 0, 0,   // a shift
                                   0.8F,  -0.6F, 2.21F,  0.6F, 0.8F, -1.3F,  0, 0,   // a rotation
                                   -2.3F, 0.1F,  9.17F,  0.2F, 1.7F, -3.41F, 0, 0};  // much of the outside
  return {.name = fmt::format("affine_transform {}{}",
                              options.interpolation == Interpolation::nearest ? "nearest, " : "", name),
          .inputs = {random_tensor(shape, 1)},
          .run = [options, transforms = Tensor::from(numbers, {3, 8}).slice_view(0, 0, images)](
                     In in) { return affine_transform(in[0], transforms, options); },
          .reference = [=](const Values& in) { return plain_transform(in[0], shape, numbers, options); },
          .check = {.length = 60},
          .takes_no_rows = false,
          .nan_spreads = options.fill_mode != FillMode::constant};
}

/// Pixel `at` of a crop, whose six numbers are given: a sum over the whole numbers around its position.
double plain_crop_pixel(const std::vector<double>& x, const Shape& shape, const Shape& at, const float* numbers,
                        const CropOptions& options) {
  const auto position = [&](std::int64_t i, std::int64_t size, const float* begin, bool flips) {
    return static_cast<double>(flips ? size - 1 - i : i) + static_cast<double>(begin[0]) +
           static_cast<double>(begin[1]);
  };
  const double row = position(at[1], options.size.height, numbers, numbers[4] != 0);
  const double column = position(at[2], options.size.width, numbers + 2, numbers[5] != 0);
  double sum = 0;
  for (std::int64_t i = -10; i < 20; ++i)
    for (std::int64_t j = -10; j < 20; ++j) {
      const double share = std::max(0.0, 1 - std::abs(static_cast<double>(i) - row)) *
                           std::max(0.0, 1 - std::abs(static_cast<double>(j) - column));
      if (share == 0) continue;
      const Shape from{at[0], element_for(i, shape[1], options.fill_mode), element_for(j, shape[2], options.fill_mode),
                       at[3]};
      if (from[1] < 0 || from[2] < 0) return options.fill_value;
      sum += share * x[static_cast<std::size_t>(number_of(from, shape))];
    }
  return sum;
}

/// The first `images` of three.
OpCase crop_case(const char* name, DType dtype, FillMode fill_mode, std::int64_t images = 3) {
  const Shape shape{images, 5, 6, 2};
  const CropOptions options{.size = {4, 7}, .fill_mode = fill_mode, .fill_value = 7};
  const std::vector<float> numbers{1, 0.25F, -2, 0, 0, 0, -3, 0, 2, 0.5F, 1, 0, 2, 0.5F, -1, 0.75F, 0, 1};
  return {.name = fmt::format("crop_and_flip of {}, {}", lockstep::name(dtype), name),
          .inputs = {cast(random_tensor(shape, 1, 0, 255), dtype)},
          .run = [options, crops = Tensor::from(numbers, {3, 6}).slice_view(0, 0, images)](
                     In in) { return crop_and_flip(in[0], crops, options); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for_each_place({images, 4, 7, 2}, [&](const Shape& at) {
                  const double pixel = plain_crop_pixel(in[0], shape, at, numbers.data() + at[0] * 6, options);
                  y.push_back(dtype == DType::u8    ? std::floor(pixel + 0.5)
                              : dtype == DType::i32 ? std::trunc(pixel)
                                                    : pixel);
                });
                return y;
              },
          .check = {.length = 4},
          .takes_no_rows = false,  // the crops are of `images`
          .gives = dtype,
          .refuses = {DType::bf16, DType::i64, DType::boolean}};
}

constexpr std::int64_t block = 2;

/// The place among the channels' images of the element of space_to_depth's result.
std::int64_t in_space(const Shape& at, const Shape& space) {
  const std::int64_t c = space[3];
  return number_of({at[0], at[1] * block + at[3] / c / block, at[2] * block + at[3] / c % block, at[3] % c}, space);
}

std::vector<OpCase> block_cases() {
  const Shape space{2, 6, 4, 3};
  const Shape depth{2, 3, 2, 12};
  const auto to_space = [=](const Values& in) {
    std::vector<double> y(in[0].size());
    for (std::size_t i = 0; const double x : in[0]) {
      Shape at = depth;
      std::int64_t rest = static_cast<std::int64_t>(i++);
      for (int axis = 3; axis >= 0; --axis) {
        at[axis] = rest % depth[axis];
        rest /= depth[axis];
      }
      y[static_cast<std::size_t>(in_space(at, space))] = x;
    }
    return y;
  };
  return {{.name = "depth_to_space",
           .inputs = {random_tensor(depth, 1)},
           .run = [](In in) { return depth_to_space(in[0], block); },
           .reference = to_space,
           .takes_any_dtype = true},
          {.name = "space_to_depth",
           .inputs = {random_tensor(space, 1)},
           .run = [](In in) { return space_to_depth(in[0], block); },
           .reference = moved(depth, [=](const Shape& at) { return in_space(at, space); }),
           .takes_any_dtype = true}};
}

}  // namespace

std::vector<OpCase> image_cases() {
  std::vector<OpCase> cases{single_image_case()};
  const std::pair<const char*, Interpolation> interpolations[] = {{"nearest", Interpolation::nearest},
                                                                  {"bilinear", Interpolation::bilinear},
                                                                  {"bicubic", Interpolation::bicubic},
                                                                  {"lanczos3", Interpolation::lanczos3},
                                                                  {"lanczos5", Interpolation::lanczos5}};
  for (const auto& [name, interpolation] : interpolations)
    for (const bool antialias : {false, true}) {
      const ResizeOptions options{.interpolation = interpolation, .antialias = antialias};
      cases.push_back(resize_case(name, {2, 4, 5, 4}, {8, 15}, options));
      cases.push_back(resize_case(name, {1, 13, 12, 3}, {5, 4}, options));
      cases.push_back(resize_case(name, {2, 6, 9, 8}, {11, 2}, options));
      cases.push_back(resize_case(name, {2, 1, 5, 1}, {3, 5}, options));
    }
  // Channels that do not fill whole vectors, whole blocks of vectors, and both.
  cases.push_back(resize_case("bilinear", {1, 3, 4, 20}, {5, 3}, {}));
  cases.push_back(resize_case("bicubic", {1, 5, 3, 64}, {3, 4}, {.interpolation = Interpolation::bicubic}));
  cases.push_back(
      resize_case("lanczos3", {1, 4, 3, 70}, {2, 4}, {.interpolation = Interpolation::lanczos3, .antialias = true}));
  cases.push_back(large(resize_case("bilinear", {4, 24, 24, 16}, {48, 40}, {}), 3));
  cases.push_back(fitted_case("cropped", {.crop_to_aspect_ratio = true}, {2, 3, 6, 3}, 2, 0));
  cases.push_back(fitted_case("padded", {.pad_to_aspect_ratio = true, .fill_value = 0.5}, {2, 7, 14, 3}, 0, -4));
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::bilinear}) {
    const auto add = [&](const char* name, FillMode mode) {
      cases.push_back(affine_case(name, {.interpolation = interpolation, .fill_mode = mode, .fill_value = 0.75}));
    };
    add("with a constant", FillMode::constant);
    add("with the nearest pixel", FillMode::nearest);
    add("with reflections", FillMode::reflect);
    add("with repetitions", FillMode::wrap);
  }
  cases.push_back(affine_case("of no images", {}, 0));
  for (OpCase& c : block_cases()) cases.push_back(std::move(c));
  for (const DType dtype : {DType::f32, DType::i32, DType::u8}) {
    cases.push_back(crop_case("with a constant", dtype, FillMode::constant));
    cases.push_back(crop_case("with the nearest pixel", dtype, FillMode::nearest));
    cases.push_back(crop_case("with reflections", dtype, FillMode::reflect));
    cases.push_back(crop_case("with repetitions", dtype, FillMode::wrap));
    cases.push_back(crop_case("of no images", dtype, FillMode::wrap, 0));
  }
  return cases;
}

}  // namespace lockstep::test
