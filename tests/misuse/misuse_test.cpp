// The table of misuses: each row is a test, and table.md is the same table for readers.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <thread>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

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

struct Folder {
  const char* name;
  Rows rows;
};

const std::vector<Folder>& folders() {
  static const std::vector<Folder> all{
      {"Tensors", tensor_rows()},       {"Ops and tapes", op_rows()},
      {"Data sets", data_rows()},       {"Preparation of data", preparation_rows()},
      {"Strategies", strategy_rows()},  {"Replicas", replica_rows()},
      {"Variables", variable_rows()},   {"Layers", layer_rows()},
      {"Models", model_rows()},         {"Training", fit_rows()},
      {"Optimizers", optimizer_rows()}, {"Losses and metrics", loss_rows()},
      {"Callbacks", callback_rows()},   {"Files", file_rows()},
  };
  return all;
}

std::string table() {
  std::string text = "| call | misuse | error | what it says |\n|---|---|---|---|\n";
  for (const Folder& folder : folders()) {
    text += fmt::format("| **{}** | | | |\n", folder.name);
    for (const Misuse& row : folder.rows)
      text += fmt::format("| `{}` | {} | `{}` | {} |\n", row.call, row.how, row.error, row.message);
  }
  return text;
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
      EXPECT_THAT(error.what(), testing::HasSubstr(row_.message));
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
  for (const Folder& folder : folders())
    for (const Misuse& row : folder.rows)
      testing::RegisterTest("Misuse", test_name(row).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [&row]() -> testing::Test* { return new MisuseTest(row); });
  return true;
}();

TEST(MisuseTable, IsTheOneInItsFile) {
  if (std::getenv("LOCKSTEP_WRITE_MISUSE_TABLE")) write_text(MISUSE_TABLE, table());
  EXPECT_EQ(contents_of(MISUSE_TABLE), table()) << "write it anew with LOCKSTEP_WRITE_MISUSE_TABLE=1 misuse_test";
}

}  // namespace
}  // namespace lockstep::test
