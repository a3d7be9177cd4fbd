#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/character_vocabulary.h>

#include "data_files.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<int> character_ids(const CharacterVocabulary& vocabulary, const std::string& text) {
  const Tensor ids = vocabulary.encode(text);
  EXPECT_EQ(ids.rank(), 1);
  EXPECT_EQ(ids.dtype(), DType::i64);
  return ids.to_vector<int>();
}

struct CharacterVocabularyFile : testing::Test {
  CharacterVocabulary load(const std::string& text) const {
    test::write_text(file, text);
    return CharacterVocabulary::load(file);
  }
  /// Loading `text` fails with the line "FILE: `complaint`".
  void expect_refused(const std::string& text, const std::string& complaint) const {
    EXPECT_THAT([&] { load(text); }, ThrowsMessage<InputError>(file + ": " + complaint));
  }

  test::TemporaryFolder folder;
  const std::string file = folder / "characters.txt";
};

/// Keras sorts by (count, character) and reverses.
TEST(CharacterVocabulary, NumbersCharactersAsKeras) {
  const auto vocabulary = CharacterVocabulary::adapt({"abcab", "a\xC3\xA9 \xE2\x82\xAC"});  // é, €
  EXPECT_EQ(vocabulary.size(), 8);
  EXPECT_THAT(character_ids(vocabulary,
                            "ab\xE2\x82\xAC\xC3\xA9"
                            "c "),
              ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST(CharacterVocabulary, HasAnIdForUnknownCharacters) {
  const auto vocabulary = CharacterVocabulary::adapt({"ab"});
  EXPECT_THAT(character_ids(vocabulary, "xa\xF0\x9F\x98\x80"), ElementsAre(1, 3, 1));
  EXPECT_THAT(character_ids(vocabulary, ""), IsEmpty());
  EXPECT_EQ(CharacterVocabulary::adapt({}).size(), 2);
}

TEST(CharacterVocabulary, KeepsTheMostFrequentCharacters) {
  const auto vocabulary = CharacterVocabulary::adapt({"aaabbc"}, 4);
  EXPECT_EQ(vocabulary.size(), 4);
  EXPECT_THAT(character_ids(vocabulary, "abc"), ElementsAre(2, 3, 1));
  EXPECT_EQ(CharacterVocabulary::adapt({"abc"}, 100).size(), 5);
  EXPECT_THAT([] { (void)CharacterVocabulary::adapt({"a"}, 1); },
              ThrowsMessage<InvalidArgument>("max_tokens must be at least 2, got 1"));
}

TEST(CharacterVocabulary, DecodesIds) {
  const auto vocabulary = CharacterVocabulary::adapt({"a\xC3\xA9\n"});
  const std::string text = "\xC3\xA9\na";
  EXPECT_EQ(vocabulary.decode(vocabulary.encode(text)), text);
  EXPECT_EQ(vocabulary.decode(Tensor::from(std::vector<std::int32_t>{0, 1, 0}, {3})), "\xEF\xBF\xBD");
  EXPECT_THAT(
      [&] {
        (void)vocabulary.decode(Tensor::from(std::vector<std::int64_t>{2, 5}, {2}));
      },
      ThrowsMessage<InvalidArgument>("id 5 is not in the vocabulary, which has the ids 0 to 4"));
  EXPECT_THROW((void)vocabulary.decode(Tensor::from(std::vector<std::int64_t>{-1}, {1})), InvalidArgument);
  EXPECT_THROW((void)vocabulary.decode(Tensor::zeros({1})), InvalidArgument);
  EXPECT_THROW((void)vocabulary.decode(Tensor::zeros({1, 1}, DType::i64)), InvalidArgument);
  EXPECT_THROW((void)vocabulary.decode({}), InvalidArgument);
}

TEST(CharacterVocabulary, NamesTheByteThatIsNotUtf8) {
  EXPECT_THAT(
      [] {
        (void)CharacterVocabulary::adapt({"a", "bc\xFF"});
      },
      ThrowsMessage<InputError>("text 1: byte 2 is not UTF-8: 0xff"));
  const auto vocabulary = CharacterVocabulary::adapt({"a"});
  for (const char* text : {"a\xC3", "a\xC0\x80", "a\xED\xA0\x80", "a\x80"})  // cut, too long, surrogate, no begin
    EXPECT_THAT([&] { (void)vocabulary.encode(text); },
                ThrowsMessage<InputError>(testing::HasSubstr("byte 1 is not UTF-8: 0x")));
}

TEST_F(CharacterVocabularyFile, KeepsTheVocabulary) {
  const std::string text = "aab\n\r\\ \xC3\xA9\xF0\x9F\x98\x80";
  const auto vocabulary = CharacterVocabulary::adapt({text});
  vocabulary.save(file);
  const std::string saved = test::contents_of(file);
  EXPECT_TRUE(saved.starts_with("a\n\xF0\x9F\x98\x80\n\xC3\xA9\n")) << saved;
  for (const std::string& content : {saved, saved.substr(0, saved.size() - 1), test::gzip(saved)}) {
    const CharacterVocabulary loaded = load(content);
    EXPECT_EQ(loaded.size(), vocabulary.size());
    EXPECT_EQ(character_ids(loaded, text), character_ids(vocabulary, text));
    EXPECT_EQ(loaded.decode(loaded.encode(text)), text);
  }
}

TEST_F(CharacterVocabularyFile, MayHaveWindowsLineEnds) {
  EXPECT_THAT(character_ids(load("b\r\n\\n\r\n"), "b\n"), ElementsAre(2, 3));
  EXPECT_EQ(load("").size(), 2);
}

TEST_F(CharacterVocabularyFile, NamesTheLineThatIsNotACharacter) {
  expect_refused("a\n\nb\n", "line 2: is empty, a line must have one character");
  expect_refused("a\nbc\n", "line 2: \"bc\" is not one character");
  expect_refused("a\nb\na", "line 3: \"a\" is also in line 1");
  expect_refused("\\", "line 1: a backslash must be written \\\\");
  expect_refused("a\n\xFF\n", "line 2: is not UTF-8");
  EXPECT_THAT([&] { CharacterVocabulary::load(folder / "none"); },
              ThrowsMessage<InputError>((folder / "none") + ": there is no such file"));
}

TEST_F(CharacterVocabularyFile, MustBeWritable) {
  EXPECT_THROW(CharacterVocabulary::adapt({"a"}).save(folder.path() / "none" / "characters.txt"), InputError);
}

}  // namespace
}  // namespace lockstep
