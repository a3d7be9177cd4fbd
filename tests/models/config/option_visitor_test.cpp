#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>

#include <lockstep/models/config/option_visitor.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

enum class Sense { up, down };

struct Options {
  bool flag = false;
  int count = 1;
  std::int64_t steps = std::int64_t{1} << 40;
  double rate = 0.5;
  std::optional<double> limit{};
  std::optional<int> most{};
  std::string text = "a";
  std::vector<std::int64_t> axes{3};
  std::vector<double> thresholds{};
  std::vector<double> factors{2};
  Sense mode = Sense::up;

  void describe(OptionVisitor& visitor) {
    visitor.option("flag", flag);
    visitor.option("count", count);
    visitor.option("steps", steps);
    visitor.option("rate", rate);
    visitor.option("limit", limit);
    visitor.option("most", most);
    visitor.option("text", text);
    visitor.one_or_more("axes", axes);
    visitor.option_if_any("thresholds", thresholds);
    visitor.one_or_more("factors", factors);
    visitor.choice("mode", mode, {{"up", Sense::up}, {"down", Sense::down}});
    visitor.fixed("kind", "plain");
    visitor.fixed_unwritten("axis", -1.0);
  }
};

Json written(Options options) {
  OptionVisitor visitor("the object");
  options.describe(visitor);
  return visitor.values();
}

Options read(const Json& values) {
  OptionVisitor visitor("the object", values);
  return read_options<Options>(visitor);
}

TEST(OptionVisitor, WritesAndReadsTheSameOptions) {
  const Json plain = Json::parse(R"({"flag": false, "count": 1, "steps": 1099511627776, "rate": 0.5, "text": "a",
      "axes": 3, "factors": 2.0, "mode": "up", "kind": "plain"})");
  EXPECT_EQ(written({}), plain);
  const Json unusual =
      Json::parse(R"({"flag": true, "count": -2, "steps": 3, "rate": 2.0, "limit": 0.25, "most": 3, "text": "b",
      "axes": [0, 1], "thresholds": [0.5], "factors": [0.5, 2.0], "mode": "down", "kind": "plain"})");
  EXPECT_EQ(written(read(unusual)), unusual);
  EXPECT_EQ(written(read(Json::object())), plain);
}

TEST(OptionVisitor, ReadsOtherFormsOfOneValue) {
  EXPECT_EQ(read({{"count", 10.0}}).count, 10);
  EXPECT_EQ(read({{"rate", 2}}).rate, 2);
  EXPECT_EQ(read({{"rate", {0.25}}}).rate, 0.25);
  EXPECT_FALSE(read({{"limit", nullptr}}).limit);
  EXPECT_FALSE(read({{"most", nullptr}}).most);
  EXPECT_TRUE(read({{"factors", nullptr}}).factors.empty());
  EXPECT_EQ(read({{"factors", 3}}).factors, std::vector<double>{3});
  EXPECT_EQ(written(read({{"axis", -1}})), written({}));
  EXPECT_EQ(read({{"unknown", false}, {"other", nullptr}, {"more", 0}}).count, 1);
}

TEST(OptionVisitor, SaysWhatWouldBeRight) {
  const auto refused = [](const char* values, const char* message) {
    EXPECT_ERROR(InputError, message, read(Json::parse(values)));
  };
  refused(R"({"flag": 1})", "the object: flag cannot be 1; it must be true or false");
  refused(R"({"count": 3000000000})", "the object: count cannot be 3000000000; it must be a whole number of 32 bits");
  refused(R"({"steps": 0.5})", "the object: steps cannot be 0.5; it must be a whole number below 2^63");
  refused(R"({"rate": "high"})", "the object: rate cannot be \"high\"; it must be a number");
  refused(R"({"limit": "high"})", "the object: limit cannot be \"high\"; it must be a number");
  refused(R"({"most": 0.5})", "the object: most cannot be 0.5; it must be a whole number of 32 bits");
  refused(R"({"text": 1})", "the object: text cannot be 1; it must be text");
  refused(R"({"axes": [0.5]})",
          "the object: axes cannot be [0.5]; it must be a whole number below 2^63, or a list of them");
  refused(R"({"factors": "a"})", "the object: factors cannot be \"a\"; it must be a number, a list of them, or null");
  refused(R"({"thresholds": 1})", "the object: thresholds cannot be 1; it must be a list of numbers");
  refused(R"({"mode": "left"})", "the object: mode cannot be \"left\"; it must be \"up\" or \"down\"");
  refused(R"({"kind": "rare"})", "the object: kind cannot be \"rare\"; it must be \"plain\"");
  refused(R"({"axis": 0})", "the object: axis cannot be 0; it must be -1.0");
  refused(R"({"unknown": 2})", "the object: unknown cannot be 2; it must be left out: it is unknown here");
}

TEST(OptionVisitor, RefusesIntegersAboveInt64) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(read(Json::parse(R"({"steps": 9223372036854775807})")).steps, most);
  EXPECT_EQ(read(Json::parse(R"({"axes": [9223372036854775807]})")).axes, std::vector<std::int64_t>{most});
  EXPECT_ERROR(InputError, "the object: steps cannot be 9223372036854775808; it must be a whole number below 2^63",
               read(Json::parse(R"({"steps": 9223372036854775808})")));
  EXPECT_ERROR(InputError, "the object: count cannot be 18446744073709551615; it must be a whole number of 32 bits",
               read(Json::parse(R"({"count": 18446744073709551615})")));
  EXPECT_ERROR(InputError, "the object: axes cannot be [1,18446744073709551615]; it must be a whole number below 2^63",
               read(Json::parse(R"({"axes": [1, 18446744073709551615]})")));
}

}  // namespace
}  // namespace lockstep
