// A bidirectional LSTM learns over two replicas which of two texts a line is from. The lines of a batch are padded to
// the longest one; the padding is masked.
//   bidirectional_lstm [TEXT TEXT [EPOCHS]]
// The default texts are the licenses GPL-3 and MPL-2.0, which Debian ships. Every fifth line is for testing. Writes
// bidirectional_lstm.keras.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

/// The lines with words, labeled.
Dataset labeled(const Dataset& lines, std::size_t label) {
  return lines.filter([](const Example& line) { return line.size() > 0; }).map([=](const Example& line) {
    return line.with_y(Tensor::full({}, static_cast<double>(label), DType::i64));
  });
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> texts =
      argc > 2 ? std::vector<std::string>(argv + 1, argv + 3)
               : std::vector<std::string>{"/usr/share/common-licenses/GPL-3", "/usr/share/common-licenses/MPL-2.0"};
  const int epochs = argc > 3 ? std::stoi(argv[3]) : 6;

  const auto vocabulary = BytePairVocabulary::train({read_text(texts[0]), read_text(texts[1])}, {.vocab_size = 1000});
  const auto encode = [=](std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));  // all lines without indentation
    return vocabulary.encode(line) + 1;                                      // 0 is for padding
  };
  std::vector<Dataset> train, test;
  for (std::size_t i = 0; i < 2; ++i) {
    const Dataset lines = text_line_dataset({texts[i]}, encode, {.shuffle = true});
    const std::int64_t tested = *lines.size() / 5;
    test.push_back(labeled(lines.take(tested), i));
    train.push_back(labeled(lines.skip(tested), i));
  }
  const Dataset train_batches = train[0].concatenate(train[1]).shuffle().padded_batch(32);
  const Dataset test_batches = test[0].concatenate(test[1]).padded_batch(64);

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  const Symbol ids = Input({-1});
  Symbol x = Embedding({.input_dim = vocabulary.size() + 1, .output_dim = 32, .mask_zero = true})(ids);
  x = Dropout({.rate = 0.5})(Bidirectional(LSTM({.units = 32}))(x));
  Model model(ids, Dense({.units = 1, .activation = Activation::sigmoid})(x));
  model.compile(Adam({.learning_rate = 2e-3}), BinaryCrossentropy(), {BinaryAccuracy()});
  model.fit(train_batches, {.epochs = epochs, .validation = test_batches});

  double lines = 0, of_second = 0;
  for (const Batch& batch : test_batches.epoch()) {
    lines += static_cast<double>(batch.size());
    of_second += sum(batch.y()).item<double>();
  }
  fmt::print("test accuracy {:.3f}; {:.3f} of the test lines are from the longer text\n",
             model.evaluate(test_batches).at("binary_accuracy"), std::max(of_second, lines - of_second) / lines);
  for (const std::string line : {"convey a covered work", "distribute Covered Software"})
    fmt::print("'{}': from {} with probability {:.2f}\n", line, texts[1],
               model.predict(expand_dims(encode(line), 0)).item<float>());
  model.save("bidirectional_lstm.keras");
} catch (const std::exception& error) {
  fmt::print(stderr, "bidirectional_lstm: {}\n", error.what());
  return 1;
}
