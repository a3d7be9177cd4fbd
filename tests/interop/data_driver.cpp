#include <map>
#include <string>

#include <fmt/core.h>

#include <lockstep/models/data/byte_pair_vocabulary.h>
#include <lockstep/models/data/character_vocabulary.h>
#include <lockstep/models/data/csv_file.h>
#include <lockstep/models/data/image_file.h>
#include <lockstep/models/data/numpy_file.h>
#include <lockstep/models/data/text_file.h>
#include <lockstep/models/data/tfrecord.h>

#include "print_tensor.h"

// usage: data_driver npy|npz|csv|tfrecord|mask|characters FILE
//        data_driver train_pairs|encode_pairs TEXT VOCAB_JSON MERGES_TXT
// Prints a line for each array, column, tensor of a record, or the ids of a text: its name, dtype, shape and values.
// characters: the ids of a text in the vocabulary of its characters. train_pairs: writes the files of a vocabulary of
// 1000 tokens of the text.

namespace {

using namespace lockstep;
using test::print;

void print_file(const std::string& kind, const std::string& file) {
  if (kind == "npy") print("", read_npy(file));
  if (kind == "npz")
    for (const auto& [label, values] : read_npz(file)) print(label, values);
  if (kind == "csv")
    for (const CsvColumn& column : read_csv(file)) print(column.name, column.values);
  if (kind == "mask") print("", read_mask(file));
  if (kind == "characters") {
    const std::string text = read_text(file);
    print("", CharacterVocabulary::adapt({text}).encode(text));
  }
  if (kind != "tfrecord") return;
  const TfRecordOptions options{.inputs = {{"x", FeatureType::numbers, {3}}, {"raw", FeatureType::bytes, {2, 2}}},
                                .targets = {{"y", FeatureType::integers}}};
  for (const Example& record : tfrecord_dataset({file}, options).epoch()) {
    print("x", record.inputs[0]);
    print("raw", record.inputs[1]);
    print("y", record.y());
  }
}

void use_pairs(const std::string& kind, const std::string& file, const std::string& vocab, const std::string& merges) {
  const std::string text = read_text(file);
  if (kind == "train_pairs") BytePairVocabulary::train({text}, {.vocab_size = 1000}).save(vocab, merges);
  const BytePairVocabulary vocabulary = BytePairVocabulary::load(vocab, merges);
  const Tensor ids = vocabulary.encode(text);
  require(vocabulary.decode(ids) == text, "the ids are not decoded to the text");
  print("", ids);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) return 2;
  try {
    if (argc == 3)
      print_file(argv[1], argv[2]);
    else
      use_pairs(argv[1], argv[2], argv[3], argv[4]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
