#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/models/data/byte_pair_vocabulary.h>
#include <lockstep/models/data/character_vocabulary.h>
#include <lockstep/models/data/csv_file.h>
#include <lockstep/models/data/image_directory.h>
#include <lockstep/models/data/image_file.h>
#include <lockstep/models/data/numpy_file.h>
#include <lockstep/models/data/text_file.h>
#include <lockstep/models/data/tfrecord.h>
#include <lockstep/models/data/time_series.h>

#include "print_tensor.h"

// usage: data_driver npy|npz|csv|tfrecord|mask|characters FILE
//        data_driver train_pairs|encode_pairs TEXT VOCAB_JSON MERGES_TXT
//        data_driver images DIRECTORY HEIGHT WIDTH CHANNELS [VALIDATION_SPLIT training|validation [SEED]]
//        data_driver windows FILE.npz LENGTH STRIDE RATE START END
// Prints a line for each array, column, category, tensor of an example, or the ids of a text: its name, dtype, shape
// and values. csv: each category of a column, as bytes, after the column. characters: the ids of a text in the
// vocabulary of its characters. train_pairs: writes the files of a vocabulary of 1000 tokens of the text. images: in
// the order of the files, unless there is a seed. windows: of the array "data", with "targets" if the file has them.

namespace {

using namespace lockstep;
using test::print;

void print_file(const std::string& kind, const std::string& file) {
  if (kind == "npy") print("", read_npy(file));
  if (kind == "npz")
    for (const auto& [label, values] : read_npz(file)) print(label, values);
  if (kind == "csv")
    for (const CsvColumn& column : read_csv(file)) {
      print(column.name, column.values);
      for (const std::string& text : column.categories)
        print("category", Tensor::from(std::vector<std::uint8_t>(text.begin(), text.end()),
                                       {static_cast<std::int64_t>(text.size())}));
    }
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

void print_images(const std::vector<std::string>& arguments) {
  ImageDirectoryOptions options{.image_size = {std::stoll(arguments[2]), std::stoll(arguments[3])},
                                .channels = std::stoll(arguments[4]),
                                .shuffle = arguments.size() > 7};
  if (arguments.size() > 6) {
    options.validation_split = std::stod(arguments[5]);
    options.subset = arguments[6] == "training" ? Subset::training : Subset::validation;
  }
  if (options.shuffle) options.seed = std::stoull(arguments[7]);
  const ImageDirectory images = image_dataset_from_directory(arguments[1], options);
  for (const Example& image : images.dataset.epoch()) {
    print("image", image.x());
    print("label", image.y());
  }
}

void print_windows(const std::vector<std::string>& arguments) {
  const std::map<std::string, Tensor> arrays = read_npz(arguments[1]);
  const auto targets = arrays.find("targets");
  const Dataset windows = timeseries_dataset_from_array(
      arrays.at("data"), targets == arrays.end() ? Tensor() : targets->second, std::stoll(arguments[2]),
      {.sequence_stride = std::stoll(arguments[3]),
       .sampling_rate = std::stoll(arguments[4]),
       .start_index = std::stoll(arguments[5]),
       .end_index = std::stoll(arguments[6])});
  for (const Example& window : windows.epoch()) {
    print("window", window.x());
    if (window.y().defined()) print("target", window.y());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) return 2;
  const std::string& kind = arguments[0];
  try {
    if (kind == "images")
      print_images(arguments);
    else if (kind == "windows")
      print_windows(arguments);
    else if (kind == "train_pairs" || kind == "encode_pairs")
      use_pairs(kind, arguments.at(1), arguments.at(2), arguments.at(3));
    else
      print_file(kind, arguments[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
