#include <support/temporary_folder.h>

#include "rows.h"

namespace lockstep::test {
namespace {

/// A model from 4 features to 3 logits.
Model uncompiled() {
  const Symbol input = Input({4});
  return {input, Dense({.units = 3})(input)};
}

Model compiled() {
  Model model = uncompiled();
  model.compile(SGD(), SparseCategoricalCrossentropy({.from_logits = true}), {Accuracy()});
  return model;
}

/// A model with two replicas.
Model mirrored() {
  return MirroredStrategy({"CPU:0", "CPU:1"}).scope([] { return compiled(); });
}

Dataset examples(std::int64_t count = 6) {
  return Dataset::from_tensors(zeros({count, 4}), zeros({count}, DType::i64));
}
Dataset batches() { return examples().batch(2); }
Dataset wide() { return Dataset::from_tensors(zeros({6, 5}), zeros({6}, DType::i64)).batch(2); }

Rows moved_from_model_rows() {
  const char* const says = "this model has no value";
  return {
      misuse<LogicError>("Model::fit", "moved from", says, [] { moved_from(compiled()).fit(batches()); }),
      misuse<LogicError>("Model::evaluate", "moved from", says, [] { moved_from(compiled()).evaluate(batches()); }),
      misuse<LogicError>("Model::predict", "moved from", says, [] { moved_from(compiled()).predict(batches()); }),
      misuse<LogicError>("Model::operator()", "moved from", says,
                         [] {
                           moved_from(compiled())(zeros({1, 4}));
                         }),
      misuse<LogicError>("Model::compile", "moved from", says,
                         [] { moved_from(compiled()).compile(SGD(), MeanSquaredError()); }),
      misuse<LogicError>("Model::summary", "moved from", says, [] { (void)moved_from(compiled()).summary(); }),
      misuse<LogicError>("Model::stop_training", "moved from", says, [] { moved_from(compiled()).stop_training(); }),
      misuse<LogicError>("Model::interrupt_training", "moved from", says,
                         [] { moved_from(compiled()).interrupt_training(); }),
      misuse<LogicError>("save_model", "a model that was moved from", says,
                         [] { save_model(moved_from(compiled()), "m.keras"); }),
      misuse<LogicError>("clone_model", "a model that was moved from", says,
                         [] { clone_model(moved_from(compiled())); }),
      misuse<LogicError>("multi_gpu_model", "a model that was moved from", says,
                         [] {
                           multi_gpu_model(moved_from(compiled()), {.devices = {"CPU:0", "CPU:1"}});
                         }),
      misuse<LogicError>("Model::fit", "a data set that was moved from", "this data set has no value",
                         [] { compiled().fit(moved_from(batches())); }),
      misuse<LogicError>("Model::fit", "validation with a data set that was moved from", "this data set has no value",
                         [] { compiled().fit(batches(), {.validation = moved_from(batches())}); }),
      misuse<LogicError>("Model::fit", "an optimizer that was moved from", "this optimizer has no value",
                         [] {
                           Model model = uncompiled();
                           model.compile(moved_from<Optimizer>(SGD()), SparseCategoricalCrossentropy());
                           model.fit(batches());
                         }),
      misuse<LogicError>("Symbol::shape", "moved from", "this symbol has no value",
                         [] { (void)moved_from(Input({4})).shape(); }),
      misuse<LogicError>("Layer::operator()", "moved from", "this layer has no value",
                         [] { moved_from<Layer>(Dense({.units = 3}))(Input({4})); }),
      misuse<LogicError>("Layer::operator()", "a symbol that was moved from", "this symbol has no value",
                         [] { Dense({.units = 3})(moved_from(Input({4}))); }),
      misuse<LogicError>("Model::get_weights", "moved from", says, [] { (void)moved_from(compiled()).get_weights(); }),
      misuse<LogicError>("Model::set_weights", "moved from", says, [] { moved_from(compiled()).set_weights({}); }),
      misuse<LogicError>("Model::variables", "moved from", says, [] { (void)moved_from(compiled()).variables(); }),
      misuse<LogicError>("Model::trainable_variables", "moved from", says,
                         [] { (void)moved_from(compiled()).trainable_variables(); }),
      misuse<LogicError>("Model::count_params", "moved from", says,
                         [] { (void)moved_from(compiled()).count_params(); }),
      misuse<LogicError>("Model::optimizer", "moved from", says, [] { (void)moved_from(compiled()).optimizer(); }),
      misuse<LogicError>("Model::name", "moved from", says, [] { (void)moved_from(compiled()).name(); }),
      misuse<LogicError>("Model::save_weights", "moved from", says,
                         [] { moved_from(compiled()).save_weights("w.weights.h5"); }),
      misuse<LogicError>("Model::load_weights", "moved from", says,
                         [] { moved_from(compiled()).load_weights("w.weights.h5"); }),
      misuse<LogicError>("make_parallel", "a model that was moved from", says,
                         [] { make_parallel(moved_from(compiled()), 2); }),
      misuse<LogicError>("model_to_estimator", "a model that was moved from", says,
                         [] { model_to_estimator(moved_from(compiled())); }),
  };
}

Rows build_rows() {
  return {
      misuse<InvalidArgument>("Input", "a size of 0",
                              "Input needs sizes of at least 1 (the batch axis left out), got (4, 0)",
                              [] {
                                Input({4, 0});
                              }),
      misuse<InvalidArgument>("Model", "an output of another input", "does not depend on its input",
                              [] { Model(Input({4}), Dense({.units = 3})(Input({4}))); }),
      misuse<InvalidArgument>("Model", "no output", "a model needs at least one output",
                              [] { Model(std::vector{Input({4})}, std::vector<Symbol>()); }),
      misuse<LogicError>("Model", "in a replica", "a model is made outside the replicas, in the strategy's scope",
                         [] {
                           MirroredStrategy({"CPU:0", "CPU:1"}).run([] { compiled(); });
                         }),
      misuse<InvalidArgument>("Sequential", "no layers", "a Sequential model needs at least one layer",
                              [] { Sequential({4}, {}); }),
      misuse<InvalidArgument>("Model::operator()", "another shape",
                              "the model takes batches of (4), got f32 (2, 5) on CPU:0",
                              [] {
                                uncompiled()(zeros({2, 5}));
                              }),
      misuse<InvalidArgument>("Model::operator()", "another dtype",
                              "layer 'dense': dense: x must be f32 or bf16 (n, ..., inputs), got i32 (2, 4) on CPU:0",
                              [] {
                                uncompiled()(zeros({2, 4}, DType::i32));
                              }),
      misuse<InvalidArgument>("Model::operator()", "an undefined tensor",
                              "the model takes batches of (4), got an undefined tensor",
                              [] { uncompiled()(Tensor()); }),
      misuse<InvalidArgument>("Model::operator()", "a tensor that was moved from",
                              "the model takes batches of (4), got an undefined tensor",
                              [] {
                                uncompiled()(moved_from(zeros({2, 4})));
                              }),
      misuse<InvalidArgument>("Model::operator()", "two inputs for one",
                              "the model takes 1 inputs, 'input_layer', got 2",
                              [] {
                                uncompiled()(std::vector{zeros({2, 4}), zeros({2, 4})});
                              }),
      misuse<LogicError>("Model::operator()", "training outside run()", "trains inside strategy.run()",
                         [] {
                           mirrored()(zeros({2, 4}), Mode::train);
                         }),
      misuse<InvalidArgument>("Model::set_weights", "another number of them", "'functional' has 2 weights, got 1",
                              [] {
                                uncompiled().set_weights({zeros({4, 3})});
                              }),
      misuse<InvalidArgument>("Model::set_weights", "another shape", "has shape (4, 3) of f32, got f32 (3, 4)",
                              [] {
                                uncompiled().set_weights({zeros({3, 4}), zeros({3})});
                              }),
      misuse<InvalidArgument>(
          "Model::set_weights", "another dtype, and all weights stay", "has shape (3) of f32, got i64",
          [] {
            const Model model = uncompiled();
            const std::vector<float> before = model.get_weights()[0].to_vector<float>();
            try {
              model.set_weights({zeros({4, 3}), zeros({3}, DType::i64)});
            } catch (...) {
              require<BrokenInvariant>(model.get_weights()[0].to_vector<float>() == before, "changed");
              throw;
            }
          }),
      misuse<InvalidArgument>("Model::set_weights", "undefined tensors",
                              "weight 'dense/kernel' has shape (4, 3) of f32, got an undefined tensor",
                              [] { uncompiled().set_weights(std::vector<Tensor>(2)); }),
  };
}

Rows multi_gpu_rows() {
  using Devices = std::vector<std::string>;
  const auto with = [](const MultiGpuOptions& options) { return [=] { multi_gpu_model(uncompiled(), options); }; };
  return {
      misuse<InvalidArgument>("multi_gpu_model", "one device", "len(devices) >= 2, got [CPU:0]",
                              with({.devices = Devices{"CPU:0"}})),
      misuse<InvalidArgument>("multi_gpu_model", "a device that is not there",
                              "CPU:64 does not exist; logical CPUs are CPU:0 .. CPU:63",
                              with({.devices = Devices{"CPU:0", "CPU:64"}})),
      misuse<InvalidArgument>("multi_gpu_model", "gpus and devices", "takes gpus or devices, got both",
                              with({.gpus = 2, .devices = Devices{"CPU:0", "CPU:1"}})),
      misuse<InvalidArgument>("multi_gpu_model", "GPUs that are not there",
                              "multi_gpu_model with gpus=100 expects the devices [CPU:0, GPU:0, ", with({.gpus = 100})),
      misuse<LogicError>("multi_gpu_model", "a model of a strategy",
                         "has 2 replicas already: make it outside of strategies' scopes",
                         [] {
                           multi_gpu_model(mirrored(), {.devices = {"CPU:0", "CPU:1"}});
                         }),
      misuse<InvalidArgument>("Estimator::train", "no input function", "an estimator needs an input function",
                              [] { model_to_estimator(compiled()).train(nullptr); }),
      misuse<InvalidArgument>("make_parallel", "no device", "multi_gpu_model needs gpus >= 2, got 0",
                              [] { make_parallel(uncompiled(), 0); }),
      misuse<LogicError>("model_to_estimator", "before compile()",
                         "needs an optimizer and a loss: call compile() first",
                         [] { model_to_estimator(uncompiled()); }),
      misuse<InvalidArgument>("make_parallel", "one device", "multi_gpu_model needs gpus >= 2, got 1",
                              [] { make_parallel(compiled(), 1); }),
  };
}

}  // namespace

Rows model_rows() { return joined({moved_from_model_rows(), build_rows(), multi_gpu_rows()}); }

Rows fit_rows() {
  const auto fit = [](const Dataset& data, const FitOptions& options = {}) {
    return [=] { compiled().fit(data, options); };
  };
  return {
      misuse<LogicError>("Model::fit", "before compile()", "fit() needs an optimizer and a loss: call compile() first",
                         [] { uncompiled().fit(batches()); }),
      misuse<LogicError>("Model::evaluate", "before compile()",
                         "evaluate() needs an optimizer and a loss: call compile() first",
                         [] { uncompiled().evaluate(batches()); }),
      misuse<LogicError>("Model::optimizer", "before compile()",
                         "optimizer() needs an optimizer and a loss: call compile() first",
                         [] { (void)uncompiled().optimizer(); }),
      misuse<InvalidArgument>("Model::compile", "losses for two outputs of one",
                              "compile() got entries for 2 output(s), the model has 1",
                              [] { uncompiled().compile(SGD(), std::vector<OutputTraining>(2)); }),
      misuse<InvalidArgument>("Model::fit", "no data", "the data set is empty", fit(batches().take(0))),
      misuse<InvalidArgument>("Model::fit", "data without targets",
                              "a loss needs a data set with targets, this one has only x",
                              fit(Dataset::from_tensors(zeros({6, 4})).batch(2))),
      misuse<InvalidArgument>("Model::fit", "another shape", "the model takes batches of (4), got f32 (2, 5) on CPU:0",
                              fit(wide())),
      misuse<InvalidArgument>("Model::fit", "another dtype",
                              "layer 'dense': dense: x must be f32 or bf16 (n, ..., inputs), got i32 (2, 4) on CPU:0",
                              fit(Dataset::from_tensors(zeros({6, 4}, DType::i32), zeros({6}, DType::i64)).batch(2))),
      misuse<InvalidArgument>(
          "Model::fit", "examples that are not batched",
          "the rows of a batch are split over replicas, a scalar has none: call batch() on the data set first",
          fit(examples())),
      misuse<InvalidArgument>("Model::fit", "labels that are no classes", "label 3 in row 0 is outside [0, 3)",
                              fit(Dataset::from_tensors(zeros({2, 4}), Tensor::full({2}, 3, DType::i64)).batch(2))),
      misuse<InvalidArgument>("Model::fit", "fewer examples than replicas",
                              "a data set of 1 example(s) cannot keep 2 replicas busy: use at most 1 replica(s)",
                              [] { mirrored().fit(examples(1).batch(1)); }),
      misuse<InvalidArgument>("Model::fit", "data without end and no steps_per_epoch",
                              "a data set without end needs steps_per_epoch", fit(batches().repeat())),
      misuse<InvalidArgument>("Model::fit", "epochs of no steps", "steps_per_epoch must be at least 1, got 0",
                              fit(batches(), {.steps_per_epoch = 0})),
      misuse<InvalidArgument>("Model::fit", "a negative number of epochs",
                              "fit() needs epochs >= 1 and initial_epoch >= 0, got -1 and 0",
                              fit(batches(), {.epochs = -1})),
      misuse<InvalidArgument>("Model::fit", "a negative first epoch",
                              "fit() needs epochs >= 1 and initial_epoch >= 0, got 1 and -1",
                              fit(batches(), {.initial_epoch = -1})),
      misuse<InvalidArgument>("Model::fit", "a callback that is null", "fit() was given a callback that is null",
                              fit(batches(), {.callbacks = {nullptr}})),
      misuse<InvalidArgument>("Model::fit", "comparing every -1 steps", "verify_every must not be negative, got -1",
                              fit(batches(), {.verify_every = -1})),
      misuse<InvalidArgument>("Model::fit", "shares for other replicas",
                              "2 batch shares [1, 2] were given for 1 replica(s)",
                              fit(batches(), {.distribute = {.shares = {1, 2}}})),
      misuse<InvalidArgument>("Model::evaluate", "no data", "the data set is empty",
                              [] { compiled().evaluate(batches().take(0)); }),
      misuse<InvalidArgument>("Model::evaluate", "data without end",
                              "a data set without end has no result: use take() to limit it",
                              [] { compiled().evaluate(batches().repeat()); }),
      misuse<InvalidArgument>("Model::predict", "another shape",
                              "the model takes batches of (4), got f32 (2, 5) on CPU:0",
                              [] { compiled().predict(wide()); }),
      misuse<LogicError>("Model::fit", "in a replica", "fit() was called inside a replica",
                         [] {
                           Model model = mirrored();
                           model.strategy().run([&] { model.fit(batches()); });
                         }),
      misuse<LogicError>("Model::fit", "in another strategy's scope", "the scope of a strategy other than",
                         [] {
                           Model model = mirrored();
                           const MirroredStrategy other({"CPU:0"});
                           const auto inside = other.scope();
                           model.fit(batches());
                         }),
  };
}

Rows file_rows() {
  static const TemporaryFolder folder;
  const std::string nowhere = folder / "nowhere/";
  const auto damaged = [](const std::string& name) {
    write_text(folder / name, "not what the name says");
    return folder / name;
  };
  return {
      misuse<InputError>("load_model", "a file that is not there", "m.keras: there is no such file",
                         [=] { load_model(nowhere + "m.keras"); }),
      misuse<InvalidArgument>("load_model", "an unknown extension", "the extension of a model's file says its format",
                              [] { load_model("m.onnx"); }),
      misuse<InputError>("load_model", "a damaged .keras", "damaged.keras: cannot be opened as a zip archive",
                         [=] { load_model(damaged("damaged.keras")); }),
      misuse<InputError>("load_model", "a damaged .h5", "damaged.h5: this is not an HDF5 file",
                         [=] { load_model(damaged("damaged.h5")); }),
      misuse<InputError>("save_model", "a folder that is not there", "nowhere/m.keras: cannot be written",
                         [=] { save_model(compiled(), nowhere + "m.keras"); }),
      misuse<InputError>("Model::save_weights", "a folder that is not there",
                         "nowhere/w.safetensors: cannot be written",
                         [=] { compiled().save_weights(nowhere + "w.safetensors"); }),
      misuse<InputError>("Model::load_weights", "a damaged file",
                         "damaged.safetensors: this is no safetensors file, or is cut short",
                         [=] { compiled().load_weights(damaged("damaged.safetensors")); }),
      misuse<LogicError>("load_model", "in a replica",
                         "load_model works on all replicas' weights; call it outside a replica",
                         [] {
                           MirroredStrategy({"CPU:0", "CPU:1"}).run([] { load_model("m.keras"); });
                         }),
      misuse<InputError>("load_fashion_mnist", "a folder that is not there", "nowhere/: no such directory",
                         [=] { load_fashion_mnist({.directory = nowhere}); }),
      misuse<InputError>("load_cifar10", "a folder that is not there", "nowhere/: no such directory",
                         [=] { load_cifar10({.directory = nowhere}); }),
      misuse<InputError>("hdf5_dataset", "a file that is not there", "nowhere/d.h5: there is no such file",
                         [=] { hdf5_dataset(nowhere + "d.h5", "x"); }),
      misuse<InputError>("image_dataset_from_directory", "a folder that is not there", "nowhere/: no such directory",
                         [=] { image_dataset_from_directory(nowhere); }),
      misuse<InputError>("read_image", "no image", "damaged.png: no JPEG, PNG or BMP image",
                         [=] { read_image(damaged("damaged.png")); }),
  };
}

}  // namespace lockstep::test
