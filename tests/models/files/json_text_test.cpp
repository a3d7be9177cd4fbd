#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/models/files/json_text.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

TEST(JsonText, IsRead) {
  EXPECT_EQ(parse_json(R"({"b": [1, 2.5], "a": null})", "x").dump(), R"({"b":[1,2.5],"a":null})");
}

TEST(JsonText, IsWrittenInUtf8) {
  EXPECT_EQ(json_text(nlohmann::json{{"caf\xc3\xa9", 1}}), "{\"caf\xc3\xa9\":1}");
  EXPECT_EQ(json_text(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
  EXPECT_ERROR(InvalidArgument, "is not UTF-8", json_text(nlohmann::json("caf\xe9")));
  EXPECT_ERROR(InvalidArgument, "is not UTF-8", json_text(nlohmann::ordered_json{{"caf\xe9", 1}}));
}

TEST(JsonText, NamesItsPlaceWhenItIsNone) {
  EXPECT_ERROR(InputError, "model.h5: \"config\" is not JSON: ", parse_json("{\"a\": \n", "model.h5: \"config\""));
  EXPECT_ERROR(InputError, "x is not JSON: ", parse_json("", "x"));
}

// The parser is recursive: a long row of brackets would overflow the stack.
TEST(JsonText, IsNotNestedWithoutEnd) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parse_json(nested(150), "x").size(), 1U);
  EXPECT_ERROR(InputError, "x: lists and objects are nested deeper than 200 levels", parse_json(nested(100'000), "x"));
}

// ordered_json compares each key with all previous ones.
TEST(JsonText, HasNoObjectThatTakesHoursToRead) {
  std::string keys = "\"0\":1";
  for (int key = 1; key <= 1'000; ++key) keys += fmt::format(",\"{}\":{{\"a\":1}}", key);
  EXPECT_ERROR(InputError, "x: an object has more than 1000 keys", parse_json("[{" + keys + "}]", "x"));
  EXPECT_EQ(parse_sorted_json("{" + keys + "}", "x").size(), 1'001U);
}

}  // namespace
}  // namespace lockstep
