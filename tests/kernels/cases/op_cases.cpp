#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include <kernels/cases/op_case.h>

namespace lockstep::test {

const std::vector<OpCase>& op_cases() {
  static const auto& all = *new std::vector([] {
    std::vector<OpCase> cases;
    for (const auto family : {activation_cases, array_cases, convolution_cases, elementwise_cases, indexing_cases,
                              loss_cases, matmul_cases, normalization_cases, pooling_cases, random_cases,
                              recurrence_cases, reduction_cases, scan_cases, sorting_cases})
      std::ranges::move(family(), std::back_inserter(cases));
    return cases;
  }());
  return all;
}

const std::vector<OpCase>& small_op_cases() {
  static const auto& small = *new std::vector([] {
    std::vector<OpCase> cases = op_cases();
    std::erase_if(cases, [](const OpCase& c) { return c.is_large; });
    return cases;
  }());
  return small;
}

Tensor bias_far_from_0(std::int64_t units, std::int64_t terms) {
  const double far = 2 * std::sqrt(static_cast<double>(terms));  // six standard deviations
  std::vector<float> values;
  for (std::int64_t unit = 0; unit < units; ++unit) values.push_back(static_cast<float>(unit % 3 == 0 ? -far : far));
  return Tensor::from(values, {units});
}

std::string test_name(const std::vector<OpCase>& cases, std::size_t number) {
  std::string result = cases[number].name;
  for (char& letter : result)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return result + "_" + std::to_string(number);
}

}  // namespace lockstep::test
