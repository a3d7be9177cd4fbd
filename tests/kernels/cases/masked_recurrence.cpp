#include <array>

#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/recurrence/masked_recurrence.h>
#include <lockstep/kernels/scan/scan.h>

namespace lockstep::test {
namespace {

/// (4, 4): some, all and no steps are masked, the last step of some too.
const std::vector<float> steps{0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0};

/// The sums of squares of the unmasked steps up to each step, times `factor`.
Reference masked_sums(const MaskedRecurrenceOptions& options, double factor) {
  return [=](const Values& in) {
    std::vector<double> y;
    for (std::size_t row = 0; row < 4; ++row) {
      std::array<double, 2> sums{};
      for (std::size_t step = 0; step < 4; ++step) {
        const bool counts = steps[4 * row + step] != 0;
        for (std::size_t unit = 0; unit < 2; ++unit) {
          const double x = in[0][8 * row + 2 * step + unit];
          if (counts) sums[unit] += factor * x * x;
          if (options.return_sequences || step == 3)
            y.push_back(counts || !options.zero_output_for_mask ? sums[unit] : 0);
        }
      }
    }
    return y;
  };
}

RecurrentStates sums_of_squares(const Tensor& x) {
  const Tensor sums = cumsum(square(x), 1);
  return {.h = sums, .c = sums * 2};
}

/// `of`: the result's tensor that is compared; its `factor` is 2 for c.
OpCase case_of(const char* what, const MaskedRecurrenceOptions& options, Tensor (*of)(const MaskedRecurrenceResult&),
               double factor = 1) {
  const Tensor mask = not_equal(Tensor::from(steps, {4, 4}), 0);
  MaskedRecurrenceOptions compared = options;
  if (options.return_state) compared.return_sequences = false;
  return {.name = fmt::format("masked_recurrence of {}", what),
          .inputs = {random_tensor({4, 4, 2}, 1)},
          .run = [=](In in) { return of(masked_recurrence(in[0], mask, options, sums_of_squares)); },
          .reference = masked_sums(compared, factor),
          .check = {.length = 4},
          .takes_no_rows = false,  // the mask has four
          .takes_integers = true,
          .nan_spreads = false};
}

}  // namespace

std::vector<OpCase> masked_recurrence_cases() {
  const auto y = [](const MaskedRecurrenceResult& result) { return result.y; };
  const auto h = [](const MaskedRecurrenceResult& result) { return result.states.h; };
  const auto c = [](const MaskedRecurrenceResult& result) { return result.states.c; };
  return {case_of("last step", {}, y),
          case_of("last step or zeros", {.zero_output_for_mask = true}, y),
          case_of("sequences", {.return_sequences = true}, y),
          case_of("sequences with zeros", {.return_sequences = true, .zero_output_for_mask = true}, y),
          case_of("states", {.return_sequences = true, .return_state = true}, h),
          case_of("states c", {.return_state = true}, c, 2)};
}

}  // namespace lockstep::test
