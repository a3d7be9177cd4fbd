// Model parallelism as in Keras' FAQ: one LSTM encodes two sequences of 140 x 256, each on its own device; the
// encodings are concatenated on the CPU, and one output classifies whether the sequences are alike.
//   shared_lstm [EXAMPLES [STEPS]]

#include <random>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

Model twin_encoder() {
  const Symbol tweet_a = Input({140, 256});
  const Symbol tweet_b = Input({140, 256});
  const LSTM shared_lstm({.units = 64});
  const Symbol encoded_a = with_device("CPU:0", [&] { return shared_lstm(tweet_a); });
  const Symbol encoded_b = with_device("CPU:1", [&] { return shared_lstm(tweet_b); });
  return with_device("CPU:0", [&] {
    const Symbol merged = Concatenate()({encoded_a, encoded_b});
    return Model({tweet_a, tweet_b}, Dense({.units = 1})(merged));
  });
}

Tensor random_tensor(const Shape& shape, std::mt19937& generator) {
  const Tensor x = Tensor::empty(shape);
  for (float& value : x.span<float>()) value = static_cast<float>(generator()) / 2147483648.0F - 1.0F;
  return x;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t examples = argc > 1 ? std::stoll(argv[1]) : 64;
  const int steps = argc > 2 ? std::stoi(argv[2]) : 20;
  std::mt19937 generator(0);
  const Tensor a = random_tensor({examples, 140, 256}, generator);
  const Tensor b = random_tensor({examples, 140, 256}, generator);
  const Tensor alike = Tensor::empty({examples, 1});
  for (float& value : alike.span<float>()) value = static_cast<float>(generator() % 2);

  const Model model = twin_encoder();
  const RMSprop optimizer;
  for (int step = 0; step < steps; ++step) {
    GradientTape tape;
    const Tensor logits = model({a, b}, Mode::train);
    const Tensor loss = sum(sigmoid_cross_entropy(logits, alike)) / static_cast<double>(examples);
    optimizer.minimize(tape, loss, model.trainable_variables());
    if (step == 0 || step == steps - 1) fmt::print("step {}: loss {:.4f}\n", step, loss.item<float>());
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "shared_lstm: {}\n", error.what());
  return 1;
}
