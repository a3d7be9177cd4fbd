#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/character_vocabulary.h>
#include <lockstep/models/data/text_lines.h>
#include <lockstep/models/data/time_series.h>

#include "data_files.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// The bytes of a line.
Tensor line_bytes(std::string_view line) {
  return Tensor::from(std::vector<std::uint8_t>(line.begin(), line.end()), {static_cast<std::int64_t>(line.size())});
}

std::vector<std::string> lines_of(const Dataset& set, std::uint64_t epoch = 0) {
  std::vector<std::string> lines;
  for (const Example& line : set.epoch(epoch)) {
    EXPECT_FALSE(line.y().defined());
    const std::vector<std::uint8_t> bytes = line.x().to_vector<std::uint8_t>();
    lines.emplace_back(bytes.begin(), bytes.end());
  }
  return lines;
}

struct TextLines : testing::Test {
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    test::write_text(folder / name, text);
    return folder / name;
  }

  test::TemporaryFolder folder;
};

TEST_F(TextLines, AreThoseOfAllFiles) {
  const Dataset set = text_line_dataset(
      {write("a", "one\ntwo\r\n\nfour"), write("b", ""), write("c", "\n"), write("d", "five\rsix\n")}, line_bytes);
  EXPECT_EQ(set.size(), 6);
  EXPECT_THAT(lines_of(set), ElementsAre("one", "two", "", "four", "", "five\rsix"));
  EXPECT_THAT(lines_of(set.skip(3).take(1)), ElementsAre("four"));
  EXPECT_THAT(lines_of(text_line_dataset({}, line_bytes)), IsEmpty());
}

TEST_F(TextLines, AreReadFromCompressedFiles) {
  const std::string text = "one\ntwo\r\n\nfour";
  const std::vector<std::filesystem::path> files{write("a.gz", test::gzip(text)), write("b", "five\n"),
                                                 write("c.gz", test::gzip(""))};
  const Dataset set = text_line_dataset(files, line_bytes);
  EXPECT_THAT(lines_of(set), ElementsAre("one", "two", "", "four", "five"));
  EXPECT_THAT(lines_of(set.skip(3)), ElementsAre("four", "five"));
}

TEST_F(TextLines, AreFoundInLargeFiles) {
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    expected.push_back(std::string(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26)));
    text += expected.back() + '\n';
  }
  EXPECT_EQ(lines_of(text_line_dataset({write("large", text)}, line_bytes)), expected);
}

TEST_F(TextLines, AreShuffledAndSplit) {
  const std::vector<std::filesystem::path> files{write("a", "1\n2\n3\n"), write("b", "4\n5\n")};
  const Dataset set = text_line_dataset(files, line_bytes, {.shuffle = true, .seed = 1});
  EXPECT_NE(lines_of(set, 0), lines_of(set, 1));
  std::vector<std::string> all = lines_of(set.take(2), 0);
  EXPECT_THAT(lines_of(set.take(2), 1), testing::UnorderedElementsAreArray(all));
  for (const std::string& line : lines_of(set.skip(2), 1)) all.push_back(line);
  EXPECT_THAT(all, testing::UnorderedElementsAre("1", "2", "3", "4", "5"));
}

TEST_F(TextLines, AreSplitWithoutLeaksAfterBatches) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::string(static_cast<std::size_t>(i % 7), ' ') + std::to_string(i) + '\n';
  const Dataset lines = text_line_dataset({write("a", text)}, line_bytes, {.shuffle = true, .seed = 1});
  const Dataset batches = lines.padded_batch(4);
  const auto lines_in = [](const Dataset& set, std::uint64_t epoch) {
    std::set<std::string> all;
    for (const Batch& batch : set.epoch(epoch))
      for (std::int64_t row = 0; row < batch.size(); ++row) {
        const std::vector<std::uint8_t> bytes = batch.x().slice_view(0, row, row + 1).to_vector<std::uint8_t>();
        all.emplace(bytes.begin(), std::ranges::find(bytes, 0));
      }
    return all;
  };
  const std::set<std::string> validation = lines_in(batches.take(5), 0);
  EXPECT_EQ(validation.size(), 20U);
  for (const std::uint64_t epoch : {0, 1, 2}) {
    EXPECT_EQ(lines_in(batches.take(5), epoch), validation);
    const std::set<std::string> trained = lines_in(batches.skip(5), epoch);
    EXPECT_EQ(trained.size(), 30U);
    for (const std::string& line : trained) EXPECT_FALSE(validation.contains(line)) << line;
  }
  const Dataset long_lines = lines.filter([](const Example& line) { return line.x().dim(0) > 3; });
  EXPECT_THAT([&] { (void)long_lines.take(9); },
              ThrowsMessage<InvalidArgument>("take() and skip() after filter() would select other examples in each "
                                             "epoch, because the examples are shuffled: call them before filter()"));
  EXPECT_EQ(lines_of(long_lines.repeat(1).take(9)).size(), 9U);
}

TEST_F(TextLines, BecomeIdsOfUnequalNumber) {
  const std::string text = "ab\na\n";
  const auto vocabulary = CharacterVocabulary::adapt({text});
  const Dataset set =
      text_line_dataset({write("a", text)}, [vocabulary](std::string_view line) { return vocabulary.encode(line); });
  const Batch batch = set.padded_batch(2).epoch().next().value();
  EXPECT_EQ(batch.x().dtype(), DType::i64);
  EXPECT_THAT(batch.x().to_vector<int>(), ElementsAre(2, 4, 2, 0));
}

TEST_F(TextLines, NameTheLineThatCannotBeEncoded) {
  const auto vocabulary = CharacterVocabulary::adapt({"a"});
  const std::filesystem::path file = write("b", "a\na\xFF\n");
  const Dataset set = text_line_dataset({write("a", "a\n"), file},
                                        [vocabulary](std::string_view line) { return vocabulary.encode(line); });
  EXPECT_THAT([&] { (void)lines_of(set.skip(1)); },
              ThrowsMessage<InputError>(HasSubstr(file.string() + ": line 2: byte 1 is not UTF-8: 0xff")));
}

TEST_F(TextLines, NameTheLineForWhichTheEncoderThrows) {
  const std::filesystem::path file = write("a", "good\nbad\n");
  const auto expect = [&](const auto& error, const std::string& message) {
    const LineEncoder encode = [error](std::string_view line) {
      if (line == "bad") throw error;
      return line_bytes(line);
    };
    for (const bool shuffle : {false, true})
      EXPECT_THAT([&] { (void)lines_of(text_line_dataset({file}, encode, {.shuffle = shuffle})); },
                  ThrowsMessage<InputError>(HasSubstr(file.string() + ": line 2: " + message)));
  };
  expect(std::runtime_error("bad word"), "bad word");
  expect(std::out_of_range("no such id"), "no such id");
  expect(5, "an exception of unknown type");
  const LineEncoder refuse = [](std::string_view) -> Tensor { fail("wrong use"); };
  EXPECT_THAT([&] { (void)lines_of(text_line_dataset({file}, refuse)); },
              ThrowsMessage<InvalidArgument>(HasSubstr(file.string() + ": line 1: wrong use")))
      << "keeps its type";
}

TEST_F(TextLines, NameTheFileThatCannotBeRead) {
  EXPECT_THAT([&] { (void)text_line_dataset({folder / "none"}, line_bytes); },
              ThrowsMessage<InputError>((folder / "none") + ": there is no such file"));
  EXPECT_THAT([&] { (void)text_line_dataset({folder.path()}, line_bytes); }, testing::Throws<InputError>());
  const std::filesystem::path packed = write("a.gz", test::gzip("text").substr(0, 20));
  EXPECT_THAT([&] { (void)text_line_dataset({packed}, line_bytes); },
              ThrowsMessage<InputError>(HasSubstr("a.gz: the compressed data are")));
  const std::filesystem::path file = write("a", "one\ntwo\n");
  const Dataset set = text_line_dataset({file}, line_bytes);
  write("a", "one\nt");
  EXPECT_THAT([&] { (void)lines_of(set.skip(1)); },
              ThrowsMessage<InputError>(HasSubstr("a: line 2: the file is shorter than when it was opened")));
  EXPECT_THROW((void)text_line_dataset({file}, nullptr), InvalidArgument);
}

TEST(SplitInputTarget, ShiftsTheTargetByOneStep) {
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, {8});
  const Dataset windows = timeseries_dataset_from_array(ids, {}, 4, {.sequence_stride = 3}).map(split_input_target);
  EXPECT_EQ(windows.size(), 2);
  const Batch batch = windows.batch(2).epoch().next().value();
  EXPECT_EQ(batch.x().shape(), (Shape{2, 3}));
  EXPECT_THAT(batch.x().to_vector<int>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(batch.y().to_vector<int>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THROW((void)split_input_target({{Tensor::zeros({1})}}), InvalidArgument);
  EXPECT_THROW((void)split_input_target({{Tensor::zeros({})}}), InvalidArgument);
  EXPECT_THROW((void)split_input_target({}), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
