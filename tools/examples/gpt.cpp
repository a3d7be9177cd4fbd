// A GPT of characters: trains over two replicas on a text and then continues a prompt, drawing each character with the
// probability that the model gives it, sharpened by a temperature below 1.
//   gpt [TEXT [EPOCHS [LAYERS [WIDTH [CONTEXT]]]]]
// TEXT is a UTF-8 file; by default the license GPL-3, which Debian ships. An epoch has 100 steps. WIDTH is a multiple
// of 32.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

/// Continues `text` by `count` characters.
std::string write(const Model& model, std::int64_t context, const CharacterVocabulary& vocabulary, std::string text,
                  int count, double temperature) {
  Tensor ids = vocabulary.encode(text);
  for (int i = 0; i < count; ++i) {
    const std::int64_t end = ids.dim(0);
    const Tensor read = expand_dims(slice(ids, 0, std::max<std::int64_t>(0, end - context), end), 0);
    const Tensor logits = model(read);  // (1, time, vocabulary)
    const Tensor last = squeeze(slice(logits, 1, read.dim(1) - 1, read.dim(1)), {1});
    const RandomKey key{.step = static_cast<std::uint64_t>(i)};
    const Tensor next = categorical(
        last / temperature, 1, [&] { return key; }, DType::i64);
    ids = concatenate(std::vector{ids, squeeze(next, {0})}, 0);
  }
  return vocabulary.decode(ids);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "/usr/share/common-licenses/GPL-3";
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 10;
  const std::int64_t layers = argc > 3 ? std::stoll(argv[3]) : 4;
  const std::int64_t width = argc > 4 ? std::stoll(argv[4]) : 128;
  const std::int64_t context = argc > 5 ? std::stoll(argv[5]) : 128;

  const std::string text = read_text(path);
  const auto vocabulary = CharacterVocabulary::adapt({text});
  const Tensor ids = vocabulary.encode(text);
  require(ids.dim(0) > context, "{} has {} characters, fewer than CONTEXT + 1 = {}", path, ids.dim(0), context + 1);
  fmt::print("{}: {} characters, {} of them different\n", path, ids.dim(0), vocabulary.size() - 2);
  const Dataset windows = timeseries_dataset_from_array(ids, {}, context + 1)  // one at each position of the text
                              .map(split_input_target)                         // x: `context` ids, y: the id after each
                              .shuffle()
                              .batch(16)
                              .prefetch();

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  Model model = zoo::gpt(
      {.vocabulary = vocabulary.size(), .context = context, .layers = layers, .width = width, .heads = width / 32});
  model.compile(Adam({.learning_rate = 1e-3}), SparseCategoricalCrossentropy({.from_logits = true}), {Accuracy()});
  const History history = model.fit(windows, {.epochs = epochs, .steps_per_epoch = 100});
  fmt::print("loss {:.2f}, accuracy {:.2f}\n", history.values.at("loss").back(), history.values.at("accuracy").back());
  fmt::print("{}\n", write(model, context, vocabulary, "The license ", 400, 0.8));
} catch (const std::exception& error) {
  fmt::print(stderr, "gpt: {}\n", error.what());
  return 1;
}
