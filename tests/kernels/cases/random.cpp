#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include <kernels/cases/op_case.h>
#include <kernels/cases/sources.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/random/normal.h>
#include <lockstep/kernels/random/philox.h>
#include <lockstep/kernels/random/random.h>

namespace lockstep::test {
namespace {

const RandomKey key{.seed = 5, .stream = 1, .replica = 2, .step = 9};
RandomKey next_key() { return key; }

/// Word i of the key's sequence, and number i of its numbers of 64 bits.
double word_at(std::uint64_t i) { return RandomSequence(key).block(i / 4).word[i % 4]; }
std::uint64_t wide_word_at(std::uint64_t i) {
  const PhiloxBlock block = RandomSequence(key).block(i / 2);
  return static_cast<std::uint64_t>(block.word[i % 2 * 2]) << 32 | block.word[i % 2 * 2 + 1];
}

OpCase dropout_case(const Shape& shape, float rate) {
  return {.name = fmt::format("dropout of {} of {}", rate, shape),
          .inputs = {random_tensor(shape, 1, 0.5, 1.5)},
          .run = [=](In in) { return dropout(in[0], rate, key); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y = in[0];
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const bool dropped = word_at(i) / 4294967296.0 < static_cast<double>(rate);
                  y[i] *= dropped ? 0.0 : 1 / (1 - static_cast<double>(rate));
                }
                return y;
              },
          .nan_spreads = false};
}

/// The slices along `axis` in the order of random keys.
OpCase shuffle_case(const Shape& shape, int axis) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(shape.dim(axis)));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [](std::int64_t i) { return wide_word_at(static_cast<std::uint64_t>(i)) >> 16; });
  const auto source = [=](Shape at) {
    std::int64_t& place = at[shape.normalize_axis(axis)];
    place = order[static_cast<std::size_t>(place)];
    return number_of(at, shape);
  };
  return {.name = fmt::format("shuffle of {} along {}", shape, axis),
          .inputs = {random_tensor(shape, 1)},
          .run = [=](In in) { return shuffle(in[0], next_key, axis); },
          .reference = moved(shape, source),
          .takes_any_dtype = true};
}

/// A row of an op without inputs: `number(i)` is element i.
OpCase drawn_case(const char* op, const Shape& shape, DType dtype, std::function<Tensor()> draw,
                  std::function<double(std::uint64_t)> number) {
  return {.name = fmt::format("{} in {} {}", op, name(dtype), shape),
          .inputs = {},
          .run = [draw = std::move(draw)](In) { return draw(); },
          .reference =
              [=, number = std::move(number)](const Values&) {
                std::vector<double> y;
                for (std::int64_t i = 0; i < shape.elements(); ++i) y.push_back(number(static_cast<std::uint64_t>(i)));
                return y;
              },
          .data = 0,
          .gives = dtype};
}

/// Number `i` of four of Box and Muller's formula for pairs of words.
double normal_number(const PhiloxBlock& words, std::uint64_t i) {
  const std::uint64_t pair = i / 2 * 2;
  const double angle = 2 * std::numbers::pi * (words.word[pair + 1] + 0.5) / 4294967296.0;
  const double radius = std::sqrt(-2 * std::log((words.word[pair] + 0.5) / 4294967296.0));
  return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

double number_within_two(std::uint64_t i) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const PhiloxBlock words = RandomSequence(key).block(i + (attempt << 48));
    for (const std::uint64_t k : {0U, 1U, 2U, 3U})
      if (const double number = normal_number(words, k); std::abs(number) < 2) return number;
  }
}

/// How many of five words are below 0.25.
double successes(std::uint64_t i) {
  double count = 0;
  for (std::uint64_t k = 0; k < 5; ++k) count += word_at(8 * i + k) < 0x1p30 ? 1 : 0;
  return count;
}

std::vector<OpCase> real_cases(const Shape& shape, DType dtype) {
  return {drawn_case(
              "normal", shape, dtype, [=] { return normal(shape, 1, 0.5, next_key, dtype); },
              [](std::uint64_t i) { return 1 + 0.5 * normal_number(RandomSequence(key).block(i / 4), i % 4); }),
          drawn_case(
              "uniform", shape, dtype, [=] { return uniform(shape, -2, 1, next_key, dtype); },
              [](std::uint64_t i) { return -2 + 3 * std::floor(word_at(i) / 256) * 0x1p-24; }),
          drawn_case(
              "truncated_normal", shape, dtype, [=] { return truncated_normal(shape, 1, 0.5, next_key, dtype); },
              [](std::uint64_t i) { return 1 + 0.5 * number_within_two(i); }),
          drawn_case(
              "binomial", shape, dtype, [=] { return binomial(shape, 5, 0.25, next_key, dtype); }, successes)};
}

OpCase randint_case(const Shape& shape, DType dtype) {
  return drawn_case(
      "randint", shape, dtype, [=] { return randint(shape, 3, 20, next_key, dtype); },
      [](std::uint64_t i) { return 3 + static_cast<double>(wide_word_at(i) % 17); });
}

/// Classes of logits (rows, classes), of which each row has one that is never drawn.
OpCase categorical_case(DType logits, std::int64_t rows, std::int64_t classes, std::int64_t samples, DType gives) {
  std::vector<float> numbers = random_tensor({rows, classes}, 1, -2, 2).to_vector<float>();
  for (std::int64_t row = 0; row < rows; ++row)
    numbers[static_cast<std::size_t>(row * classes + row % classes)] = -std::numeric_limits<float>::infinity();
  return {.name = fmt::format("categorical of {} ({}, {}) in {}", name(logits), rows, classes, name(gives)),
          .inputs = {cast(Tensor::from(numbers, {rows, classes}), logits)},
          .run = [=](In in) { return categorical(in[0], samples, next_key, gives); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (std::int64_t i = 0; i < rows * samples; ++i) {
                  const auto row = in[0].begin() + i / samples * classes;
                  const auto add = [](double sum, double logit) { return sum + std::exp(logit); };
                  const double share = static_cast<double>(wide_word_at(static_cast<std::uint64_t>(i))) * 0x1p-64;
                  double left = share * std::accumulate(row, row + classes, 0.0, add);
                  std::int64_t chosen = 0;
                  while ((left -= std::exp(row[chosen])) >= 0) ++chosen;
                  y.push_back(static_cast<double>(chosen));
                }
                return y;
              },
          .gives = gives,
          .refuses = {DType::i32, DType::i64, DType::u8, DType::boolean}};
}

}  // namespace

std::vector<OpCase> random_cases() {
  std::vector<OpCase> cases{dropout_case({3}, 0.3F), dropout_case({7, 81}, 0.25F), dropout_case({1021}, 0.5F)};
  cases.push_back(large(dropout_case({100'003}, 0.5F), 2));
  for (const auto& [shape, axis] : {std::pair(Shape{4}, 0), std::pair(Shape{5, 3}, 0), std::pair(Shape{3, 40, 2}, -2)})
    cases.push_back(shuffle_case(shape, axis));
  cases.push_back(large(shuffle_case({30'001}, 0), 2));
  for (const Shape& shape : {Shape{7, 43}, Shape{0, 3}, Shape{30'001}}) {
    std::vector<OpCase> drawn;
    for (const DType dtype : {DType::f32, DType::bf16})
      std::ranges::move(real_cases(shape, dtype), std::back_inserter(drawn));
    for (const DType dtype : {DType::i32, DType::i64, DType::u8}) drawn.push_back(randint_case(shape, dtype));
    for (OpCase& c : drawn) cases.push_back(shape.rank() == 1 ? large(std::move(c), 0) : std::move(c));
  }
  for (const DType gives : {DType::i32, DType::i64})
    for (const DType logits : {DType::f32, DType::bf16}) cases.push_back(categorical_case(logits, 5, 7, 20, gives));
  cases.push_back(large(categorical_case(DType::f32, 101, 7, 300, DType::i32), 0));
  return cases;
}

}  // namespace lockstep::test
