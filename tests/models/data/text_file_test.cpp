#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/text_file.h>

#include "data_files.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

TEST(TextFile, IsReadPlainAndCompressed) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "text";
  const std::string text = std::string("a\0b\xFF", 4);
  for (const std::string& content : {text, test::gzip(text)}) {
    test::write_text(file, content);
    EXPECT_EQ(read_text(file), text);
  }
  test::write_text(file, "");
  EXPECT_EQ(read_text(file), "");
  test::write_text(file, test::gzip(text).substr(0, 20));
  EXPECT_THAT([&] { (void)read_text(file); }, ThrowsMessage<InputError>(HasSubstr(file + ": the compressed data are")));
  EXPECT_THAT([&] { (void)read_text(folder / "none"); },
              ThrowsMessage<InputError>((folder / "none") + ": there is no such file"));
}

TEST(TextFile, HasLinesWithNumbers) {
  std::vector<std::pair<std::int64_t, std::string>> lines;
  const auto add = [&](std::string_view line, std::int64_t number) { lines.emplace_back(number, line); };
  for_each_line("one\n\r\ntwo\r\nthree\r", "file", add);
  EXPECT_THAT(lines, ElementsAre(Pair(1, "one"), Pair(2, ""), Pair(3, "two"), Pair(4, "three\r")));
  lines.clear();
  for_each_line("", "file", add);
  EXPECT_TRUE(lines.empty());
}

TEST(TextFile, NamesTheLineOfAnError) {
  const auto refuse = [](std::string_view line, std::int64_t) { require<InputError>(line != "b", "is a b"); };
  EXPECT_THAT([&] { for_each_line("a\nb\n", "folder/file", refuse); },
              ThrowsMessage<InputError>("folder/file: line 2: is a b"));
  const auto other = [](std::string_view, std::int64_t) { throw std::runtime_error("bad"); };
  EXPECT_THAT([&] { for_each_line("a\n", "folder/file", other); },
              ThrowsMessage<InputError>("folder/file: line 1: bad"));
}

}  // namespace
}  // namespace lockstep
