// The table of ops (cases/op_case.h) must have a row for every op.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <gmock/gmock.h>
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

/// The identifiers in a source file outside of #include directives and string literals.
std::set<std::string> identifiers(const std::string& file) {
  std::ifstream in(std::string(SOURCE_FOLDER "/") + file);
  EXPECT_TRUE(in) << file;
  const std::regex ignored(R"(#include.*|"[^"]*")");
  const std::regex word(R"(\w+)");
  std::set<std::string> found;
  for (std::string line; std::getline(in, line);) {
    line = std::regex_replace(line, ignored, " ");
    for (std::sregex_iterator at(line.begin(), line.end(), word), end; at != end; ++at) found.insert(at->str());
  }
  return found;
}

/// The public functions for which the table needs no row.
std::set<std::string> functions_without_row() {
  const std::set<std::string> calls_another{"activate"};  // activations_test.cpp
  const std::set<std::string> writes_to_operands{"assign", "update_moving_averages"};
  const std::set<std::string> copies_between_devices{"reachable_from", "to_device", "to_current_device"};
  const std::set<std::string> computes_no_tensor{"conv1d_steps", "conv1d_transpose_steps", "is_reachable",
                                                 "slide_transposed"};
  std::set<std::string> without_row;
  for (const auto* some : {&calls_another, &writes_to_operands, &copies_between_devices, &computes_no_tensor})
    without_row.insert(some->begin(), some->end());
  return without_row;
}

/// Whether the row has an input or a result without elements, or is also called without rows.
bool is_called_with_no_elements(const OpCase& row) {
  const auto has_none = [](const Tensor& x) { return x.elements() == 0; };
  const bool has_rows = row.data > 0 && !row.inputs.empty() && row.inputs[0].rank() > 0;
  return (row.takes_no_rows && has_rows) || std::ranges::any_of(row.inputs, has_none) ||
         (!row.is_large && has_none(row.run(row.inputs)));
}

TEST(OpCasesTable, HasARowForEachOp) {
  std::set<std::string> with_row;
  for (const auto* cases : {&op_cases(), &op_cases_without_gradient()})
    for (const OpCase& row : *cases) with_row.insert({row.function(), row.calls_first});
  std::set<std::string> missing;
  std::ranges::set_difference(public_functions(), with_row, std::inserter(missing, missing.end()));
  EXPECT_EQ(missing, functions_without_row());
}

TEST(OpCasesTable, HasARowWithoutElementsForEachOp) {
  std::set<std::string> found = functions_without_row();
  for (const auto* cases : {&op_cases(), &op_cases_without_gradient()})
    for (const OpCase& row : *cases)
      for (const std::string& function : {row.function(), row.calls_first})
        if (!found.contains(function) && is_called_with_no_elements(row)) found.insert(function);
  std::set<std::string> missing;
  std::ranges::set_difference(public_functions(), found, std::inserter(missing, missing.end()));
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST(OpCasesTable, IsComparedWithKerasForEachOp) {
  std::set<std::string> compared = functions_without_row();
  for (const char* file :
       {"interop/ops_driver.cpp", "interop/layer_op_rows.h", "interop/random_ops.h", "kernels/cases/unary_ops.cpp"})
    compared.merge(identifiers(std::string("tests/") + file));
  std::set<std::string> missing;
  std::ranges::set_difference(public_functions(), compared, std::inserter(missing, missing.end()));
  EXPECT_THAT(missing, testing::IsEmpty());
}

}  // namespace
}  // namespace lockstep::test
