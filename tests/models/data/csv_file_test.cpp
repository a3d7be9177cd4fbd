#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/csv_file.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/thread/parallel.h>

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
  EXPECT_THAT(read("a,b\n,\nNA,1\nx,y\n")[0].values.to_vector<int>(), ElementsAre(-1, -1, 0));
  EXPECT_THAT(read("a,b\n,\nNA,1\nx,y\n")[1].values.to_vector<int>(), ElementsAre(-1, 0, 1));
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
  test::write_text(file, test::gzip("a\n7\n") + test::gzip("") + test::gzip("8\n"));
  EXPECT_THAT(read_csv(file)[0].values.to_vector<int>(), ElementsAre(7, 8));
  EXPECT_THAT(read("1;2\n3;4\n", {.separator = ';', .header = false})[1].values.to_vector<int>(), ElementsAre(2, 4));
  EXPECT_EQ(read("1;2\n", {.separator = ';', .header = false})[1].name, "1");
  EXPECT_EQ(read("a,b\n")[1].values.shape(), Shape{0});
}

TEST_F(CsvFile, SkipsLinesOfNothingButSpaces) {
  for (const std::string text : {"a,b\n1,2\n   \n3,4\n", "  \na,b\n1,2\n\t \n3,4", "a,b\r\n \r\n1,2\r\n3,4\r\n   "}) {
    const std::vector<CsvColumn> columns = read(text);
    ASSERT_EQ(columns.size(), 2U);
    EXPECT_EQ(columns[0].type, CsvType::integer) << text;
    EXPECT_THAT(columns[0].values.to_vector<int>(), ElementsAre(1, 3));
    EXPECT_THAT(columns[1].values.to_vector<int>(), ElementsAre(2, 4));
  }
  EXPECT_THAT(read("a\n1\n   \n3\n")[0].values.to_vector<int>(), ElementsAre(1, 3));
  EXPECT_THAT(read("a\n1\n\" \"\n3\n")[0].categories, ElementsAre(" ", "1", "3")) << "a quoted field is a record";
  EXPECT_EQ(read("a\tb\n1\t2\n\t\n \n", {.separator = '\t'})[0].values.shape(), Shape{2}) << "separators make a record";
  expect_refused("a,b\n1,2\n \n3\n", "line 4: has 1 field(s), the first record has 2");
}

/// The spellings that pandas.read_csv takes as numbers, as missing values and as texts.
TEST_F(CsvFile, TakesSpellingsOfNumbersAsPandas) {
  const auto type_of = [&](const std::string& text) { return read("a,b\n5,1\n" + text + ",1\n")[0].type; };
  for (const char* text : {"+1", " 1", "1 ", "\t1", "\v1", "1\f", "\"1\n\"", "\"1\" ", "00012", "-0"})
    EXPECT_EQ(type_of(text), CsvType::integer) << text;
  for (const char* text : {"inf", "-inf", "+inf", "INF", "infinity", "+Infinity", "1e5", "1E+05", "1.", "+.5", "-.5e-3",
                           "1e400", "9223372036854775808"})
    EXPECT_EQ(type_of(text), CsvType::number) << text;
  for (const std::string& text : CsvOptions().na_values) {
    EXPECT_EQ(type_of(text), CsvType::number) << text;
    EXPECT_TRUE(std::isnan(read("a,b\n5,1\n" + text + ",1\n")[0].values.to_vector<float>()[1])) << text;
  }
  for (const char* text :
       {"NAN", "Nan",  "nan(1)", "nan(ind)", " nan", "nan ",    "+nan", "+NaN",  "-NAN", " NA",     "none", "Null",
        "N/a", "0x10", "0x1p3",  "1_000",    "1e",   "1e+",     ".",    "1d5",   "1f",   "1L",      "--1",  "++1",
        "+-1", "+ 1",  "- 1",    "1 2",      "1e 5", "infinit", "True", "false", " ",    "\u00a01", "1'000"})
    EXPECT_EQ(type_of(text), CsvType::category) << text;
  expect_refused("a\nNAN\n", "line 2: column \"a\": \"NAN\" is not a number", {.types = {{"a", CsvType::number}}});
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

/// A float is that of the nearest double, also where the text is close to the middle between two floats.
TEST_F(CsvFile, RoundsNumbersAsDoublesThenFloats) {
  std::vector<std::string> texts{"0",
                                 "-0.0",
                                 "5.",
                                 ".5",
                                 "007.25",
                                 "0.0008033482397672198",
                                 "12345678901234567890123",
                                 "0.1234567890123456789",
                                 "99999999.999999999",
                                 "9999999999999999999",
                                 "1.5e3"};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double middle =
        std::ldexp(static_cast<double>(2 * (random() >> 40) + 1), static_cast<int>(random() % 40) - 30);
    const double other = static_cast<double>(random() >> 11) * 0x1p-53;
    texts.push_back(fmt::format("{:.{}f}", i % 2 == 0 ? middle : other, random() % 20));
  }
  std::string table = "a\n0.5\n";
  for (const std::string& text : texts) table += text + "\n";
  const std::vector<float> values = read(table)[0].values.to_vector<float>();
  ASSERT_EQ(values.size(), texts.size() + 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto expected = static_cast<float>(std::strtod(texts[i].c_str(), nullptr));
    EXPECT_EQ(values[i + 1], expected) << texts[i];
    EXPECT_EQ(std::signbit(values[i + 1]), std::signbit(expected)) << texts[i];
  }
}

/// Values that are converted many at a time give the same as those that are converted alone: in the first 32 characters
/// of a file, or in quotation marks with other characters behind them.
TEST_F(CsvFile, ReadsNumbersOfAnyForm) {
  std::mt19937 random(2);
  const auto digits = [&] {
    std::string text(random() % 24, '0');
    for (char& digit : text) digit = static_cast<char>('0' + random() % (random() % 3 == 0 ? 1 : 10));
    return text;
  };
  std::string table = "a,b\n";
  std::vector<std::string> texts;
  std::vector<std::int64_t> integers;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = (i % 2 == 0 ? "" : "-") + digits() + (i % 3 == 0 ? "" : ".") + digits();
    if (text.find_first_of("0123456789") == text.npos) continue;
    texts.push_back(text);
    integers.push_back(static_cast<std::int64_t>(random() % (1LL << random() % 32)) * (i % 2 == 0 ? 1000001 : -1));
    table += fmt::format("{},{}\n", text, integers.back());
  }
  const std::vector<CsvColumn> columns = read(table, {.types = {{"a", CsvType::number}}});
  const std::vector<float> numbers = columns[0].values.to_vector<float>();
  ASSERT_EQ(columns[1].values.to_vector<std::int64_t>(), integers);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto expected = static_cast<float>(std::strtod(texts[i].c_str(), nullptr));
    ASSERT_EQ(numbers[i], expected) << texts[i];
    ASSERT_EQ(std::signbit(numbers[i]), std::signbit(expected)) << texts[i];
  }
  EXPECT_THAT(read("1.5\n-2\n", {.header = false})[0].values.to_vector<float>(), ElementsAre(1.5F, -2));
  EXPECT_THAT(read("\"1\"2,\"0\"\".5\"\n\"1\"3,\"4\"", {.header = false})[0].values.to_vector<int>(),
              ElementsAre(12, 13));
  for (const char* text : {"1.2.3", "1-2", "-", ".", "-.", "1,5", "12345678x", "/1", ":1", "1:", "1/"})
    EXPECT_EQ(read(fmt::format("name with more than 32 characters in it\n0.5\n\"{}\"\n", text))[0].type,
              CsvType::category)
        << text;
}

TEST_F(CsvFile, TakesNumbersAsMissingValues) {
  const std::vector<CsvColumn> columns =
      read("first column,second column,third column\n-999,1.5,7\n2,0.5,8\n", {.na_values = {"-999", "0.5"}});
  EXPECT_TRUE(std::isnan(columns[0].values.to_vector<float>()[0]));
  EXPECT_TRUE(std::isnan(columns[1].values.to_vector<float>()[1]));
  EXPECT_EQ(columns[1].values.to_vector<float>()[0], 1.5F);
  EXPECT_THAT(columns[2].values.to_vector<int>(), ElementsAre(7, 8));
}

/// Fields, lines and quotation marks of all lengths, which end anywhere in the blocks that are searched at once.
TEST_F(CsvFile, ReadsTextsOfAnyLength) {
  for (const std::string line_end : {"\n", "\r\n", "\r"}) {
    std::string table = "a,b,c" + line_end;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < 300; ++i) {
      std::string text(i % 100 == 99 ? 10000 + i : i % 40, 'x');
      if (!text.empty()) text.back() = static_cast<char>('a' + i % 26);
      if (i % 3 == 0) text += "," + line_end + ",";
      texts.push_back("t" + text);
      table += (i % 3 == 0 ? '"' + texts.back() + '"' : texts.back()) + "," + std::string(i % 67, 'y') + ",1" +
               (i == 299 ? "" : line_end);
    }
    const std::vector<CsvColumn> columns = read(table);
    const std::vector<int> codes = columns[0].values.to_vector<int>();
    ASSERT_EQ(codes.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i)
      ASSERT_EQ(columns[0].categories[static_cast<std::size_t>(codes[i])], texts[i]);
    EXPECT_EQ(columns[1].categories.size(), 66U);
    EXPECT_EQ(columns[2].type, CsvType::integer);
  }
}

TEST_F(CsvFile, ReadsManyColumns) {
  std::string table;
  for (int i = 0; i < 15000; ++i) table += fmt::format("{}{}", i, i % 5000 == 4999 ? '\n' : ',');
  const std::vector<CsvColumn> columns = read(table, {.header = false});
  ASSERT_EQ(columns.size(), 5000U);
  EXPECT_THAT(columns[4321].values.to_vector<int>(), ElementsAre(4321, 9321, 14321));
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
  expect_refused("a,b\n1,x\ny,2\n", "line 2: column \"b\": \"x\" is not a number",
                 {.types = {{"a", CsvType::number}, {"b", CsvType::number}}});
  expect_refused("a\n1\n", "has no column \"b\"", {.types = {{"b", CsvType::number}}});
  EXPECT_THAT([&] { read_csv(directory / "none.csv"); }, ThrowsMessage<InputError>(HasSubstr("there is no such file")));
}

/// Rows 0 to 29,999 of `row(number)`, enough for several threads.
std::string many(const std::function<std::string(int)>& row) {
  std::string text;
  for (int number = 0; number < 30000; ++number) text += row(number);
  return text;
}

TEST_F(CsvFile, SkipsLinesOfSpacesInAllThreadsRows) {
  const ComputeThreadsScope share(4);
  const std::vector<CsvColumn> columns =
      read("a,b\n" + many([](int i) { return fmt::format("{},2\n{}", i, i % 2 == 0 ? "  \n" : ""); }));
  EXPECT_EQ(columns[0].type, CsvType::integer);
  EXPECT_EQ(columns[0].values.shape(), Shape{30000});
}

TEST_F(CsvFile, IsReadByThreadsAsByOne) {
  // Numbers of quotation marks that are odd, and pairs of them that quote nothing, hide where records end.
  for (const char* const text : {"red", "\"a, \"\"b\"\"\nc\"", "5\" pipe", "say \"hi\"", "\"p\nr\"q"}) {
    const std::string table =
        "a,b,c\n" + many([&](int i) { return fmt::format("{},{},{}\r\n", i, i % 3 == 0 ? text : "other", 0.5 * i); });
    for (const int threads : {1, 3, 4}) {
      const ComputeThreadsScope share(threads);
      const std::vector<CsvColumn> columns = read(table);
      ASSERT_EQ(columns.size(), 3U);
      ASSERT_EQ(columns[1].categories.size(), 2U) << text;
      const std::vector<int> number = columns[0].values.to_vector<int>();
      const std::vector<int> code = columns[1].values.to_vector<int>();
      const std::vector<float> half = columns[2].values.to_vector<float>();
      ASSERT_EQ(number.size(), 30000U);
      for (std::size_t i = 0; i < number.size(); ++i) {
        const auto row = static_cast<int>(i);
        ASSERT_EQ(number[i], row);
        ASSERT_EQ(columns[1].categories[static_cast<std::size_t>(code[i])] == "other", row % 3 != 0) << text << i;
        ASSERT_EQ(half[i], 0.5F * static_cast<float>(row));
      }
    }
  }
}

TEST_F(CsvFile, InfersTypesFromAllThreadsRows) {
  const auto value = [](int i) { return i == 29990 ? "x" : fmt::format("0{}", i); };
  const std::string table =
      "a,b,c,d\n" + many([&](int i) {
        return fmt::format("{},{},{},{}\n", value(i), i == 29990 ? 0.5 : i, i == 5 ? "NA" : value(i),
                           i == 0       ? "-0"
                           : i == 29990 ? ""
                                        : "7");
      });
  for (const int threads : {1, 4}) {
    const ComputeThreadsScope share(threads);
    const std::vector<CsvColumn> columns = read(table);
    EXPECT_EQ(columns[0].type, CsvType::category);
    EXPECT_EQ(columns[0].categories.size(), 30000U);
    EXPECT_EQ(columns[0].categories[static_cast<std::size_t>(columns[0].values.to_vector<int>()[4])], "04")
        << "as it is written";
    EXPECT_EQ(columns[1].type, CsvType::number);
    EXPECT_EQ(columns[1].values.to_vector<float>()[29989], 29989);
    EXPECT_EQ(columns[2].values.to_vector<int>()[5], -1);
    EXPECT_TRUE(std::signbit(columns[3].values.to_vector<float>()[0]));
  }
}

TEST_F(CsvFile, NamesTheLineOfAnErrorInAnyThreadsRows) {
  const ComputeThreadsScope share(4);
  for (const int bad : {3, 20000, 29999}) {
    const auto table = [&](const std::string& error) {
      return "a,b\n" + many([&](int i) { return i == bad ? error : fmt::format("{},\"two\nlines\"\n", i); });
    };
    const std::string line = fmt::format("line {}: ", 2 * bad + 2);
    expect_refused(table("1,2,3\n"), line + "has 3 field(s), the first record has 2");
    expect_refused(table("x,\n"), line + "column \"a\": \"x\" is not a whole number",
                   {.types = {{"a", CsvType::integer}}});
    const auto plain = many([&](int i) { return i == bad ? "1,2,3\r\n" : "1,2\r\n"; });
    expect_refused("a,b\r\n" + plain, fmt::format("line {}: has 3 field(s), the first record has 2", bad + 2));
    expect_refused("a,b\r\n" + plain + "3,\"4",
                   fmt::format("line {}: has 3 field(s), the first record has 2", bad + 2));
    expect_refused("a,b\n" + many([&](int i) { return i == bad ? "1,\"2\n" : "1,2\n"; }),
                   fmt::format("line {}: a quotation mark is not closed", bad + 2));
  }
}

TEST_F(CsvFile, NamesTheFirstErrorAlsoWhereChunksWereGuessedWrongly) {
  const ComputeThreadsScope share(4);
  // With the quotation mark of row 10, borders of chunks seem to be within quotation marks, and the reverse.
  const auto table = [](int bad) {
    return "a,b\n" + many([&](int i) {
             return i == bad ? "1,2,3\n" : i == 10 ? "10,5\" pipe\n" : fmt::format("{},\"two\nlines\"\n", i);
           });
  };
  for (const int bad : {20000, 29999})
    expect_refused(table(bad) + "3,\"4", fmt::format("line {}: has 3 field(s), the first record has 2", 2 * bad + 1));
  expect_refused(table(-1) + "3,\"4\n", "line 60001: a quotation mark is not closed");
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
  EXPECT_THAT(csv_examples(read("a,b\nx,1\n,2\n")).x().to_vector<int>(), ElementsAre(0, 1, -1, 2));
  EXPECT_THAT(csv_examples(columns).x().slice_view(1, 1, 2).to_vector<int>(), ElementsAre(1, 0));
  EXPECT_FALSE(csv_examples(columns).y().defined());
  EXPECT_EQ(csv_examples({columns[0], columns[1], columns[1]}, "label").x().shape(), (Shape{2, 1}));
  EXPECT_THAT([&] { csv_examples(columns, "c"); }, ThrowsMessage<InvalidArgument>("there is no column \"c\""));
  EXPECT_THAT([&] { csv_examples(columns, "b"); },
              ThrowsMessage<InvalidArgument>("column \"b\" of the targets has no value in row 1"));
  EXPECT_THAT([&] { csv_examples(read("a\n1\n"), "a"); }, ThrowsMessage<InvalidArgument>("there is no column for x"));
  const std::vector<CsvColumn> unequal{columns[0], read("c\n1\n2\n3\n")[0]};
  for (const char* target : {"", "a", "c"})
    EXPECT_THAT(
        [&] {
          csv_examples({unequal[0], unequal[1], columns[2]}, target);
        },
        ThrowsMessage<InvalidArgument>("the columns of a table need equally many values of shape (rows), got "
                                       "\"a\" i64 (2) on CPU:0 and \"c\" i64 (3) on CPU:0"));
}

TEST_F(CsvFile, IsReadIntoHostMemoryInADeviceScopeOfAGpu) {
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  EXPECT_THAT(csv_examples(read("a,b\n1,2\n3,4\n")).x().to_vector<int>(), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace lockstep
