#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/models/data/text_words.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(first_word(text));
    text.remove_prefix(words.back().size());
  }
  return words;
}

TEST(TextWords, KeepTheSpaceBeforeThem) {
  EXPECT_THAT(words_of("Hello, world 2026!"), ElementsAre("Hello", ",", " world", " 2026", "!"));
  EXPECT_THAT(words_of("a1b2 x_y $%"), ElementsAre("a", "1", "b", "2", " x", "_", "y", " $%"));
}

TEST(TextWords, AreSplitAtEnglishSuffixes) {
  EXPECT_THAT(words_of("it's we'll they're I'd've"),
              ElementsAre("it", "'s", " we", "'ll", " they", "'re", " I", "'d", "'ve"));
  EXPECT_THAT(words_of("IT'S"), ElementsAre("IT", "'", "S")) << "only in lower case";
  EXPECT_THAT(words_of("''s 's"), ElementsAre("''", "s", " '", "s"));
}

TEST(TextWords, LeaveTheLastSpaceToTheNextWord) {
  EXPECT_THAT(words_of("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(words_of("a\n\nb"), ElementsAre("a", "\n", "\n", "b")) << "only a space may begin a word";
  EXPECT_THAT(words_of("a \n b"), ElementsAre("a", " \n", " b"));
  EXPECT_THAT(words_of("a  "), ElementsAre("a", "  ")) << "at the end of the text";
  EXPECT_THAT(words_of(" "), ElementsAre(" "));
  EXPECT_THAT(words_of("\tb"), ElementsAre("\t", "b"));
}

TEST(TextWords, HaveUnicodesLettersNumbersAndSpaces) {
  EXPECT_THAT(words_of("na\xC3\xAFve \xE6\x97\xA5\xE6\x9C\xAC\xE2\x91\xA0\xC2\xBD"),  // ï, 日本, ① and ½
              ElementsAre("na\xC3\xAFve", " \xE6\x97\xA5\xE6\x9C\xAC", "\xE2\x91\xA0\xC2\xBD"));
  EXPECT_THAT(words_of("a\xC2\xA0\xE3\x80\x80"
                       "b"),  // no-break space, ideographic space
              ElementsAre("a", "\xC2\xA0", "\xE3\x80\x80", "b"));
  EXPECT_THAT(words_of("\xF0\x9F\x98\x80!"), ElementsAre("\xF0\x9F\x98\x80!")) << "neither";
}

TEST(TextWords, TakeBytesThatAreNotUtf8AsNeither) {
  EXPECT_THAT(words_of("a\xFF\x80 \xC3"), ElementsAre("a", "\xFF\x80", " \xC3"));
}

}  // namespace
}  // namespace lockstep
