// Registers a test for each row of the tables.

#include <algorithm>
#include <cctype>
#include <exception>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rows.h"

namespace lockstep::test {

Rows joined(const std::vector<Rows>& parts) {
  Rows all;
  for (const Rows& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void on_another_thread(const std::function<void()>& action) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      action();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

namespace {

const Rows& rows() {
  static const Rows all =
      joined({tensor_rows(), op_rows(), array_rows(), data_rows(), preparation_rows(), strategy_rows(), replica_rows(),
              variable_rows(), layer_rows(), model_rows(), fit_rows(), on_batch_rows(), optimizer_rows(), loss_rows(),
              callback_rows(), file_rows()});
  return all;
}

/// The test of one row.
class MisuseTest : public testing::Test {
 public:
  explicit MisuseTest(const Misuse& row) : row_(row) {}
  void TestBody() override {
    try {
      row_.action();
      ADD_FAILURE() << "no error";
    } catch (const std::exception& error) {
      EXPECT_TRUE(row_.is_it(error)) << "another type of error: " << error.what();
      for (const std::string& fact : row_.facts) EXPECT_THAT(error.what(), testing::HasSubstr(fact));
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    }
  }

 private:
  const Misuse& row_;
};

std::string test_name(const Misuse& row) {
  std::string name = row.call + " " + row.how;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// Registers a test for each row before main, so that ctest's names are those of the rows.
const bool registered = [] {
  for (const Misuse& row : rows())
    testing::RegisterTest("Misuse", test_name(row).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&row]() -> testing::Test* { return new MisuseTest(row); });
  return true;
}();

}  // namespace
}  // namespace lockstep::test
