#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/byte_characters.h>
#include <lockstep/models/data/byte_pair_vocabulary.h>

#include "data_files.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<int> ids_of(const BytePairVocabulary& vocabulary, const std::string& text) {
  const Tensor ids = vocabulary.encode(text);
  EXPECT_EQ(ids.rank(), 1);
  EXPECT_EQ(ids.dtype(), DType::i64);
  return ids.to_vector<int>();
}

/// The tokens of a text, each as the bytes that it stands for.
std::vector<std::string> tokens_of(const BytePairVocabulary& vocabulary, const std::string& text) {
  std::vector<std::string> tokens;
  for (const int id : ids_of(vocabulary, text))
    tokens.push_back(vocabulary.decode(Tensor::from(std::vector<std::int32_t>{id}, {1})));
  return tokens;
}

std::string random_bytes(std::size_t count, int values) {
  std::mt19937 random(1);
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(random() % static_cast<unsigned>(values));
  return bytes;
}

TEST(BytePairVocabulary, BeginsWithTheBytesInGpt2sOrder) {
  const auto vocabulary = BytePairVocabulary::train({}, {.vocab_size = 256});
  EXPECT_EQ(vocabulary.size(), 256);
  // As in GPT-2's own vocabulary: "!" is 0, "a" 64, a line feed 198 and a space 220.
  EXPECT_THAT(ids_of(vocabulary, "!a\n "), ElementsAre(0, 64, 198, 220));
  EXPECT_EQ(vocabulary.token_to_id("\xC4\xA0"), 220);  // U+0120
  EXPECT_EQ(vocabulary.token_to_id(" "), std::nullopt);
}

/// The example of the paper (Sennrich et al., 2016): low lower newest widest.
TEST(BytePairVocabulary, MergesTheMostFrequentPair) {
  const std::string text =
      "low low low low low lower lower newest newest newest newest newest newest widest widest widest";
  const auto vocabulary = BytePairVocabulary::train({text}, {.vocab_size = 260});
  // es and st occur 9 times each, and e has a smaller id than s.
  EXPECT_EQ(vocabulary.token_to_id("es"), 256);
  EXPECT_EQ(vocabulary.token_to_id("est"), 257);
  EXPECT_THAT(tokens_of(vocabulary, "best"), ElementsAre("b", "est"));
}

TEST(BytePairVocabulary, PrefersSmallerIdsAmongEqualPairs) {
  const auto vocabulary = BytePairVocabulary::train({"dc dc ba ba"}, {.vocab_size = 258});
  EXPECT_EQ(vocabulary.token_to_id("ba"), 256);
  EXPECT_EQ(vocabulary.token_to_id("dc"), 257);
}

TEST(BytePairVocabulary, StopsAtPairsThatAreTooRare) {
  EXPECT_EQ(BytePairVocabulary::train({"abab cd"}, {.min_frequency = 2}).size(), 257);
  EXPECT_EQ(BytePairVocabulary::train({"abcd"}).size(), 259) << "nothing is left to merge";
  EXPECT_EQ(BytePairVocabulary::train({"a b"}, {.vocab_size = 300}).size(), 257);
  EXPECT_THAT([] { (void)BytePairVocabulary::train({}, {.vocab_size = 255}); },
              ThrowsMessage<InvalidArgument>("vocab_size must be at least 256, one for each byte, got 255"));
}

TEST(BytePairVocabulary, MergesRunsFromTheLeft) {
  const auto vocabulary = BytePairVocabulary::train({"aaaaa"}, {.vocab_size = 257});
  EXPECT_THAT(tokens_of(vocabulary, "aaaaa"), ElementsAre("aa", "aa", "a"));
}

TEST(BytePairVocabulary, HasEachTokenOnce) {
  const auto vocabulary = BytePairVocabulary::train({"ab ab ab bc bc abc abcd abcd xabc xabcd"});
  std::vector<std::string> whole;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    whole.push_back(vocabulary.decode(Tensor::from(std::vector<std::int64_t>{id}, {1})));
  std::ranges::sort(whole);
  EXPECT_EQ(std::ranges::adjacent_find(whole), whole.end());
  EXPECT_THAT(tokens_of(vocabulary, " xabcd abc ab"), ElementsAre(" xabcd", " abc", " ab"));
}

TEST(BytePairVocabulary, DecodesAllBytesToThemselves) {
  const std::string text = random_bytes(5000, 4) + random_bytes(5000, 256) + "na\xC3\xAFve \xE6\x97\xA5 it's\n\n";
  const auto vocabulary = BytePairVocabulary::train({text}, {.vocab_size = 600});
  EXPECT_EQ(vocabulary.size(), 600);
  for (const std::string& bytes : {text, random_bytes(999, 256), std::string(3, '\0'), std::string("\xFF")})
    EXPECT_EQ(vocabulary.decode(vocabulary.encode(bytes)), bytes);
  EXPECT_THAT(ids_of(vocabulary, ""), IsEmpty());
  EXPECT_LT(vocabulary.encode(text).elements(), 8000) << "shorter than the bytes";
}

TEST(BytePairVocabulary, EncodesLongWords) {
  const auto vocabulary = BytePairVocabulary::train({std::string(64, 'a')}, {.vocab_size = 261});
  EXPECT_EQ(vocabulary.encode(std::string(1 << 20, 'a')).elements(), 1 << 15);
}

TEST(BytePairVocabulary, DecodesOnlyItsIds) {
  const auto vocabulary = BytePairVocabulary::train({}, {.vocab_size = 256});
  EXPECT_THAT(
      [&] {
        (void)vocabulary.decode(Tensor::from(std::vector<std::int32_t>{0, 256}, {2}));
      },
      ThrowsMessage<InvalidArgument>("id 256 is not in the vocabulary, which has the ids 0 to 255"));
}

struct BytePairFiles : testing::Test {
  /// vocab.json with the bytes' tokens and `others` after them, in which `from` is replaced by `to`.
  static std::string vocab(const std::string& others = "", const std::string& from = "", const std::string& to = "") {
    std::string text = "{";
    for (int i = 0; i < byte_values; ++i) {
      const char byte = static_cast<char>(byte_at_place(i));
      const std::string token = characters_of_bytes({&byte, 1});
      text += fmt::format("{}\"{}{}\":{}", i == 0 ? "" : ",", token == "\"" || token == "\\" ? "\\" : "", token, i);
    }
    text += others + "}";
    return from.empty() ? text : text.replace(text.find(from), from.size(), to);
  }
  BytePairVocabulary load(const std::string& vocab, const std::string& merges) const {
    test::write_text(vocab_file, vocab);
    test::write_text(merges_file, merges);
    return BytePairVocabulary::load(vocab_file, merges_file);
  }
  void expect_refused_vocab(const std::string& vocab, const std::string& complaint) const {
    EXPECT_THAT([&] { load(vocab, ""); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(vocab_file + complaint), Not(HasSubstr("\n")))));
  }
  void expect_refused_merges(const std::string& merges, const std::string& complaint) const {
    EXPECT_THAT([&] { load(vocab(",\"ab\":256"), merges); }, ThrowsMessage<InputError>(merges_file + ": " + complaint));
  }

  test::TemporaryFolder folder;
  const std::string vocab_file = folder / "vocab.json";
  const std::string merges_file = folder / "merges.txt";
};

TEST_F(BytePairFiles, KeepTheVocabulary) {
  const std::string text = "it's \"quoted\" \\ na\xC3\xAFve " + random_bytes(1000, 256);
  const auto vocabulary = BytePairVocabulary::train({text}, {.vocab_size = 400});
  vocabulary.save(vocab_file, merges_file);
  EXPECT_TRUE(test::contents_of(vocab_file).starts_with(R"({"!":0,"\"":1,"#":2)"));
  EXPECT_TRUE(test::contents_of(merges_file).starts_with("#version: 0.2\n"));
  const auto loaded = BytePairVocabulary::load(vocab_file, merges_file);
  EXPECT_EQ(loaded.size(), 400);
  EXPECT_EQ(ids_of(loaded, text), ids_of(vocabulary, text));
  EXPECT_EQ(loaded.decode(loaded.encode(text)), text);
  for (const std::string& file : {vocab_file, merges_file}) test::write_text(file, test::gzip(test::contents_of(file)));
  EXPECT_EQ(BytePairVocabulary::load(vocab_file, merges_file).size(), 400);
}

TEST_F(BytePairFiles, MayHaveSpecialTokens) {
  const auto vocabulary = load(vocab(R"(,"ab":256,"<|end of text|>":257)"), "a b\n");
  EXPECT_EQ(vocabulary.token_to_id("<|end of text|>"), 257);
  EXPECT_EQ(vocabulary.decode(Tensor::from(std::vector<std::int64_t>{257, 256}, {2})), "<|end of text|>ab");
  EXPECT_THAT(tokens_of(vocabulary, "<|ab"), ElementsAre("<", "|", "ab"));
}

TEST_F(BytePairFiles, AreReadWithAndWithoutTheVersion) {
  for (const char* merges : {"#version: 0.2\na b\n", "a b", "a b\r\n"})
    EXPECT_THAT(ids_of(load(vocab(",\"ab\":256"), merges), "ab"), ElementsAre(256));
}

TEST_F(BytePairFiles, NameTheTokenThatIsWrong) {
  expect_refused_vocab("{", " is not JSON: ");
  expect_refused_vocab("[1]", ": is not an object of tokens and their ids");
  expect_refused_vocab("{}", ": has no token \"\xC4\x80\", for the byte 0x00");
  expect_refused_vocab(vocab("", "\"a\":64", "\"ab\":64"), ": has no token \"a\", for the byte 0x61");
  expect_refused_vocab(vocab(",\"ab\":257"), ": the id of token \"ab\" must be a whole number from 0 to 256");
  for (const char* id : {"-1", "1.5", "\"1\"", "null", "18446744073709551616"})
    expect_refused_vocab(vocab(std::string(",\"ab\":") + id),
                         ": the id of token \"ab\" must be a whole number from 0 to 256");
  expect_refused_vocab(vocab(",\"zz\":89"), ": the tokens \"z\" and \"zz\" have the same id");
  EXPECT_THAT([&] { BytePairVocabulary::load(folder / "none", merges_file); },
              ThrowsMessage<InputError>((folder / "none") + ": there is no such file"));
}

TEST_F(BytePairFiles, NameTheLineThatIsNoMerge) {
  expect_refused_merges("#version: 0.2\na b\nab\n", "line 3: \"ab\" is not two tokens and a space between them");
  expect_refused_merges("a b c", "line 1: \"a b c\" is not two tokens and a space between them");
  expect_refused_merges("\n", "line 1: \"\" is not two tokens and a space between them");
  expect_refused_merges("a b\nx yz", "line 2: \"yz\" is not a token of the vocabulary");
  expect_refused_merges(" a", "line 1: \"\" is not a token of the vocabulary");
  expect_refused_merges("a b\na c", "line 2: \"ac\" is not a token of the vocabulary");
  expect_refused_merges("a b\na b", "line 2: the merge \"a b\" is also in an earlier line");
}

}  // namespace
}  // namespace lockstep
