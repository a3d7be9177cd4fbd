#include <kernels/cases/op_case.h>

#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/random/philox.h>

namespace lockstep::test {
namespace {

const RandomKey dropout_key{.seed = 5, .stream = 1, .replica = 2, .step = 9};

OpCase dropout_case(const Shape& shape, float rate) {
  return {.name = fmt::format("dropout of {} of {}", rate, shape),
          .inputs = {random_tensor(shape, 1, 0.5, 1.5)},
          .run = [=](In in) { return dropout(in[0], rate, dropout_key); },
          .reference =
              [=](const Values& in) {
                const RandomSequence sequence(dropout_key);
                std::vector<double> y = in[0];
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double word = sequence.block(i / 4).word[i % 4];
                  const bool dropped = word / 4294967296.0 < static_cast<double>(rate);
                  y[i] *= dropped ? 0.0 : 1 / (1 - static_cast<double>(rate));
                }
                return y;
              },
          .nan_spreads = false};
}

}  // namespace

std::vector<OpCase> random_cases() {
  std::vector<OpCase> cases{dropout_case({3}, 0.3F), dropout_case({7, 81}, 0.25F), dropout_case({1021}, 0.5F)};
  cases.push_back(large(dropout_case({100'003}, 0.5F), 2));
  return cases;
}

}  // namespace lockstep::test
