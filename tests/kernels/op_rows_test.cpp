// The table of ops (cases/op_case.h) must have a row for every op.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <kernels/cases/op_case.h>

namespace lockstep::test {
namespace {

/// The first group of each line of a source file that the pattern matches.
std::set<std::string> matches(const std::string& file, const std::regex& pattern) {
  std::ifstream in(std::string(SOURCE_FOLDER "/") + file);
  EXPECT_TRUE(in) << file;
  std::set<std::string> found;
  for (std::string line; std::getline(in, line);)
    if (std::smatch match; std::regex_search(line, match, pattern)) found.insert(match[1]);
  return found;
}

/// The functions that the public headers of kernels/ declare.
std::set<std::string> public_functions() {
  std::set<std::string> functions;
  for (const std::string& header : matches("models/lockstep.h", std::regex("<lockstep/(kernels/.*)>")))
    functions.merge(matches(header, std::regex(R"(^(?:inline )?[A-Za-z][\w:<>, &]* (\w+)\()")));
  return functions;
}

TEST(OpCasesTable, HasARowForEachOp) {
  const std::set<std::string> calls_another{"activate"};  // activations_test.cpp
  const std::set<std::string> writes_to_operands{"assign", "update_moving_averages"};
  const std::set<std::string> copies_between_devices{"reachable_from", "to_device", "to_current_device"};
  const std::set<std::string> computes_no_tensor{"conv1d_steps", "conv1d_transpose_steps", "is_reachable",
                                                 "slide_transposed"};
  std::set<std::string> without_row;
  for (const auto* some : {&calls_another, &writes_to_operands, &copies_between_devices, &computes_no_tensor})
    without_row.insert(some->begin(), some->end());
  std::set<std::string> with_row;
  for (const auto* cases : {&op_cases(), &op_cases_without_gradient()})
    for (const OpCase& row : *cases) with_row.insert({row.function(), row.calls_first});
  std::set<std::string> missing;
  std::ranges::set_difference(public_functions(), with_row, std::inserter(missing, missing.end()));
  EXPECT_EQ(missing, without_row);
}

}  // namespace
}  // namespace lockstep::test
