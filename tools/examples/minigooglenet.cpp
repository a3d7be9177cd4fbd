// "How-To: Multi-GPU training": MiniGoogLeNet on CIFAR-10 for 70 epochs, with a batch of 64 for each device, randomly
// shifted and flipped images, a learning rate that decays linearly, and a plot of loss and accuracy.
//   minigooglenet --data DIR --output PLOT.png [--gpus N] [--epochs N] [--limit IMAGES]
// DIR contains CIFAR-10's binary version.

#include <cstdio>
#include <map>
#include <string>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

constexpr double initial_rate = 5e-3;

using Options = std::map<std::string, std::string>;

Options read_options(int argc, char** argv) {
  Options options{{"--data", ""}, {"--output", ""}, {"--gpus", "1"}, {"--epochs", "70"}, {"--limit", "50000"}};
  for (int i = 1; i + 1 < argc; i += 2) options.at(argv[i]) = argv[i + 1];
  return options;
}

/// Plots the columns of a table written by CSVLogger.
void plot(const std::string& table, const std::string& image) {
  FILE* const gnuplot = popen("gnuplot", "w");
  if (gnuplot == nullptr) throw std::runtime_error("gnuplot cannot be started");
  fmt::print(gnuplot,
             "set terminal pngcairo size 900,600\nset output '{1}'\nset datafile separator ','\n"
             "set title 'MiniGoogLeNet on CIFAR-10'\nset xlabel 'epoch'\nset ylabel 'loss, accuracy'\nset grid\n"
             "set key autotitle columnhead below\n"
             "plot for [name in 'loss val_loss accuracy val_accuracy'] '{0}' using (column('epoch') + 1):name"
             " with linespoints lw 2 title name noenhanced\n",
             table, image);
  if (pclose(gnuplot) != 0) throw std::runtime_error("gnuplot could not write " + image);
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  const int gpus = std::stoi(options.at("--gpus"));
  const int epochs = std::stoi(options.at("--epochs"));

  const std::string& folder = options.at("--data");
  const std::int64_t limit = std::stoll(options.at("--limit"));
  const Example train = load_cifar10({.directory = folder, .limit = limit});
  const Example test = load_cifar10({.directory = folder, .split = Split::test, .limit = limit});
  const auto prepare = mean_subtraction(mean_image(train.x()));
  const Dataset train_batches =
      Dataset::from_tensors(train)
          .shuffle()
          .map(image_augmentation({.width_shift_range = 0.1, .height_shift_range = 0.1, .horizontal_flip = true}))
          .batch(64 * gpus)
          .map(prepare)
          .prefetch();
  const Dataset test_batches = Dataset::from_tensors(test).batch(64 * gpus).map(prepare);

  std::vector<std::string> devices;
  for (int i = 0; i < gpus; ++i) devices.push_back(fmt::format("CPU:{}", i));
  const MirroredStrategy strategy(devices);
  const auto scope = strategy.scope();
  Model model = zoo::mini_googlenet({32, 32, 3}, 10);
  model.compile(SGD({.learning_rate = initial_rate, .momentum = 0.9}),
                SparseCategoricalCrossentropy({.from_logits = true}), {Accuracy()});

  const std::string table = options.at("--output") + ".csv";
  const History history =
      model.fit(train_batches, {.epochs = epochs,
                                .validation = test_batches,
                                .callbacks = {std::make_shared<LearningRateScheduler>(poly_decay(initial_rate, epochs)),
                                              std::make_shared<CSVLogger>(table)}});
  plot(table, options.at("--output"));
  fmt::print("test accuracy {:.3f} after {} epochs\n", history.values.at("val_accuracy").back(), epochs);
} catch (const std::out_of_range&) {
  fmt::print(stderr, "usage: minigooglenet --data DIR --output PLOT.png [--gpus N] [--epochs N] [--limit IMAGES]\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "minigooglenet: {}\n", error.what());
  return 1;
}
