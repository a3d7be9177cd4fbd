#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/csv_file.h>

#include "data_files.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

struct CsvFile : testing::Test {
  std::vector<CsvColumn> read(const std::string& text, const CsvOptions& options = {}) const {
    test::write_text(file, text);
    return read_csv(file, options);
  }
  /// Reading `text` fails with the line "FILE: `complaint`".
  void expect_refused(const std::string& text, const std::string& complaint, const CsvOptions& options = {}) const {
    EXPECT_THAT([&] { read(text, options); }, ThrowsMessage<InputError>(file + ": " + complaint));
  }

  test::TemporaryFolder directory;
  const std::string file = directory / "table.csv";
};

TEST_F(CsvFile, InfersTypes) {
  const std::vector<CsvColumn> columns = read("id,price,name\n1,0.5,pear\n-2,7,apple\n+3,1e-3,pear\n");
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[0].name, "id");
  EXPECT_EQ(columns[0].type, CsvType::integer);
  EXPECT_EQ(columns[0].values.dtype(), DType::i64);
  EXPECT_THAT(columns[0].values.to_vector<int>(), ElementsAre(1, -2, 3));
  EXPECT_EQ(columns[1].type, CsvType::number);
  EXPECT_THAT(columns[1].values.to_vector<float>(), ElementsAre(0.5F, 7.0F, 0.001F));
  EXPECT_EQ(columns[2].type, CsvType::category);
  EXPECT_THAT(columns[2].values.to_vector<int>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(columns[2].categories, ElementsAre("apple", "pear"));
  EXPECT_THAT(columns[0].categories, IsEmpty());
}

TEST_F(CsvFile, RepresentsMissingValues) {
  const std::vector<CsvColumn> columns = read("a,b,c\n1,,x\nNA,2.5,\n3,null,x\n");
  EXPECT_EQ(columns[0].type, CsvType::number) << "as in pandas";
  EXPECT_TRUE(std::isnan(columns[0].values.to_vector<float>()[1]));
  EXPECT_TRUE(std::isnan(columns[1].values.to_vector<float>()[0]));
  EXPECT_THAT(columns[2].values.to_vector<int>(), ElementsAre(0, -1, 0));
  EXPECT_EQ(read("a\nNA\n1\n", {.na_values = {"-"}})[0].type, CsvType::category);
  EXPECT_EQ(read("a\n-\n1\n", {.na_values = {"-"}})[0].type, CsvType::number);
}

TEST_F(CsvFile, TakesGivenTypes) {
  const CsvOptions options{.types = {{"a", CsvType::category}, {"b", CsvType::number}}};
  const std::vector<CsvColumn> columns = read("a,b,c\n10,1,1\n9,2,2\n", options);
  EXPECT_THAT(columns[0].categories, ElementsAre("10", "9"));
  EXPECT_THAT(columns[0].values.to_vector<int>(), ElementsAre(0, 1));
  EXPECT_EQ(columns[1].values.dtype(), DType::f32);
  EXPECT_EQ(columns[2].values.dtype(), DType::i64);
}

TEST_F(CsvFile, ReadsQuotedFields) {
  const std::vector<CsvColumn> columns = read("\"a,b\",c\n\"x, \"\"y\"\"\nz\",1\nplain \"quote\",2\n\"p\"q,\"3\"\n");
  EXPECT_EQ(columns[0].name, "a,b");
  EXPECT_THAT(columns[0].categories, ElementsAre("plain \"quote\"", "pq", "x, \"y\"\nz"));
  EXPECT_THAT(columns[1].values.to_vector<int>(), ElementsAre(1, 2, 3));
}

TEST_F(CsvFile, ReadsFilesAsPeopleHaveThem) {
  for (const std::string text : {"a,b\r\n1,2\r\n3,4\r\n", "a,b\r1,2\r3,4",
                                 "\xEF\xBB\xBF"
                                 "a,b\n\n1,2\n\n\n3, 4 \n"}) {
    const std::vector<CsvColumn> columns = read(text);
    ASSERT_EQ(columns.size(), 2U);
    EXPECT_EQ(columns[0].name, "a");
    EXPECT_THAT(columns[0].values.to_vector<int>(), ElementsAre(1, 3));
    EXPECT_THAT(columns[1].values.to_vector<int>(), ElementsAre(2, 4));
  }
  test::write_text(file, test::gzip("a\n7\n"));
  EXPECT_THAT(read_csv(file)[0].values.to_vector<int>(), ElementsAre(7));
  EXPECT_THAT(read("1;2\n3;4\n", {.separator = ';', .header = false})[1].values.to_vector<int>(), ElementsAre(2, 4));
  EXPECT_EQ(read("1;2\n", {.separator = ';', .header = false})[1].name, "1");
  EXPECT_EQ(read("a,b\n")[1].values.shape(), Shape{0});
}

TEST_F(CsvFile, ReadsNumbersOfAnySize) {
  const std::vector<CsvColumn> columns = read("a,b\n9223372036854775807,1e400\n-9223372036854775808,-1e-400\n");
  EXPECT_EQ(columns[0].type, CsvType::integer);
  EXPECT_EQ(columns[0].values.to_vector<std::int64_t>()[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_THAT(columns[1].values.to_vector<float>(), ElementsAre(std::numeric_limits<float>::infinity(), -0.0F));
  EXPECT_EQ(read("a\n9223372036854775808\n")[0].type, CsvType::number);
  for (const char* text : {"a\n1x\n", "a\n0x10\n", "a\n1 2\n", "a\n+-1\n", "a\n--1\n", "a\n.\n", "a\n1_000\n"})
    EXPECT_EQ(read(text)[0].type, CsvType::category) << text;
}

TEST_F(CsvFile, NamesLineAndColumnOfBadValues) {
  expect_refused("", "is empty");
  expect_refused("\n\n", "is empty");
  expect_refused("a,a\n1,2\n", "two columns have the name \"a\"");
  expect_refused("a,b\n1,2\n\n3\n", "line 4: has 1 field(s), the first record has 2");
  expect_refused("a,b\n\"x\ny\",2\n3,4,5\n", "line 4: has 3 field(s), the first record has 2");
  expect_refused("a,b\n1,2\n\"3,4\n", "line 3: a quotation mark is not closed");
  expect_refused("\"", "line 1: a quotation mark is not closed");
  expect_refused("a,b\n\"1\r2\r\n3\",4\n\"5", "line 5: a quotation mark is not closed");
  expect_refused("a\n1\n2.5\n", "line 3: column \"a\": \"2.5\" is not a whole number",
                 {.types = {{"a", CsvType::integer}}});
  expect_refused("a,b\n1,\n", "line 2: column \"b\" has no value, which must be a whole number",
                 {.types = {{"b", CsvType::integer}}});
  expect_refused("a\nmany\n", "line 2: column \"a\": \"many\" is not a number", {.types = {{"a", CsvType::number}}});
  expect_refused("a\n1\n", "has no column \"b\"", {.types = {{"b", CsvType::number}}});
  EXPECT_THAT([&] { read_csv(directory / "none.csv"); }, ThrowsMessage<InputError>(HasSubstr("there is no such file")));
}

TEST_F(CsvFile, BecomesExamples) {
  const std::vector<CsvColumn> columns = read("a,label,b\n1,yes,0.5\n2,no,\n");
  const Example examples = csv_examples(columns, "label");
  EXPECT_EQ(examples.x().shape(), (Shape{2, 2}));
  const std::vector<float> x = examples.x().to_vector<float>();
  EXPECT_THAT(std::vector(x.begin(), x.begin() + 3), ElementsAre(1, 0.5, 2));
  EXPECT_TRUE(std::isnan(x[3]));
  EXPECT_THAT(examples.y().to_vector<int>(), ElementsAre(1, 0));
  EXPECT_EQ(examples.y().dtype(), DType::i32);
  EXPECT_THAT(csv_examples(columns).x().slice_view(1, 1, 2).to_vector<int>(), ElementsAre(1, 0));
  EXPECT_FALSE(csv_examples(columns).y().defined());
  EXPECT_THAT([&] { csv_examples(columns, "c"); }, ThrowsMessage<InvalidArgument>("there is no column \"c\""));
  EXPECT_THAT([&] { csv_examples(columns, "b"); },
              ThrowsMessage<InvalidArgument>("column \"b\" of the targets has no value in row 1"));
  EXPECT_THAT([&] { csv_examples(read("a\n1\n"), "a"); }, ThrowsMessage<InvalidArgument>("there is no column for x"));
}

}  // namespace
}  // namespace lockstep
