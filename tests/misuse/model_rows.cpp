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
Batch tensors(std::int64_t count = 6) { return {{zeros({count, 4})}, {zeros({count}, DType::i64)}}; }
Dataset wide() { return Dataset::from_tensors(zeros({6, 5}), zeros({6}, DType::i64)).batch(2); }

Rows moved_from_model_rows() {
  return {
      misuse<LogicError>("Model::fit", "moved from", {"no value"}, [] { moved_from(compiled()).fit(batches()); }),
      misuse<LogicError>("Model::evaluate", "moved from", {"no value"},
                         [] { moved_from(compiled()).evaluate(batches()); }),
      misuse<LogicError>("Model::predict", "moved from", {"no value"},
                         [] { moved_from(compiled()).predict(batches()); }),
      misuse<LogicError>("Model::operator()", "moved from", {"no value"},
                         [] {
                           moved_from(compiled())(zeros({1, 4}));
                         }),
      misuse<LogicError>("Model::compile", "moved from", {"no value"},
                         [] { moved_from(compiled()).compile(SGD(), MeanSquaredError()); }),
      misuse<LogicError>("Model::summary", "moved from", {"no value"}, [] { (void)moved_from(compiled()).summary(); }),
      misuse<LogicError>("Model::stop_training", "moved from", {"no value"},
                         [] { moved_from(compiled()).stop_training(); }),
      misuse<LogicError>("Model::interrupt_training", "moved from", {"no value"},
                         [] { moved_from(compiled()).interrupt_training(); }),
      misuse<LogicError>("save_model", "a model that was moved from", {"no value"},
                         [] { save_model(moved_from(compiled()), "m.keras"); }),
      misuse<LogicError>("clone_model", "a model that was moved from", {"no value"},
                         [] { clone_model(moved_from(compiled())); }),
      misuse<LogicError>("multi_gpu_model", "a model that was moved from", {"no value"},
                         [] {
                           multi_gpu_model(moved_from(compiled()), {.devices = {"CPU:0", "CPU:1"}});
                         }),
      misuse<LogicError>("Model::fit", "a data set that was moved from", {"no value"},
                         [] { compiled().fit(moved_from(batches())); }),
      misuse<LogicError>("Model::fit", "validation with a data set that was moved from", {"no value"},
                         [] { compiled().fit(batches(), {.validation = moved_from(batches())}); }),
      misuse<LogicError>("Model::fit", "an optimizer that was moved from", {"no value"},
                         [] {
                           Model model = uncompiled();
                           model.compile(moved_from<Optimizer>(SGD()), SparseCategoricalCrossentropy());
                           model.fit(batches());
                         }),
      misuse<LogicError>("Symbol::shape", "moved from", {"no value"}, [] { (void)moved_from(Input({4})).shape(); }),
      misuse<LogicError>("Layer::operator()", "moved from", {"no value"},
                         [] { moved_from<Layer>(Dense({.units = 3}))(Input({4})); }),
      misuse<LogicError>("Layer::operator()", "a symbol that was moved from", {"no value"},
                         [] { Dense({.units = 3})(moved_from(Input({4}))); }),
      misuse<LogicError>("Model::get_weights", "moved from", {"no value"},
                         [] { (void)moved_from(compiled()).get_weights(); }),
      misuse<LogicError>("Model::set_weights", "moved from", {"no value"},
                         [] { moved_from(compiled()).set_weights({}); }),
      misuse<LogicError>("Model::variables", "moved from", {"no value"},
                         [] { (void)moved_from(compiled()).variables(); }),
      misuse<LogicError>("Model::trainable_variables", "moved from", {"no value"},
                         [] { (void)moved_from(compiled()).trainable_variables(); }),
      misuse<LogicError>("Model::count_params", "moved from", {"no value"},
                         [] { (void)moved_from(compiled()).count_params(); }),
      misuse<LogicError>("Model::optimizer", "moved from", {"no value"},
                         [] { (void)moved_from(compiled()).optimizer(); }),
      misuse<LogicError>("Model::name", "moved from", {"no value"}, [] { (void)moved_from(compiled()).name(); }),
      misuse<LogicError>("Model::save_weights", "moved from", {"no value"},
                         [] { moved_from(compiled()).save_weights("w.weights.h5"); }),
      misuse<LogicError>("Model::load_weights", "moved from", {"no value"},
                         [] { moved_from(compiled()).load_weights("w.weights.h5"); }),
      misuse<LogicError>("make_parallel", "a model that was moved from", {"no value"},
                         [] { make_parallel(moved_from(compiled()), 2); }),
      misuse<LogicError>("model_to_estimator", "a model that was moved from", {"no value"},
                         [] { model_to_estimator(moved_from(compiled())); }),
  };
}

Rows build_rows() {
  return {
      misuse<InvalidArgument>("Input", "a size of 0", {"Input", "(4, 0)"},
                              [] {
                                Input({4, 0});
                              }),
      misuse<InvalidArgument>("Model", "an output of another input", {"depend"},
                              [] { Model(Input({4}), Dense({.units = 3})(Input({4}))); }),
      misuse<InvalidArgument>("Model", "no output", {"output"},
                              [] { Model(std::vector{Input({4})}, std::vector<Symbol>()); }),
      misuse<LogicError>("Model", "in a replica", {"outside"},
                         [] {
                           MirroredStrategy({"CPU:0", "CPU:1"}).run([] { compiled(); });
                         }),
      misuse<InvalidArgument>("Sequential", "no layers", {"Sequential"}, [] { Sequential({4}, {}); }),
      misuse<InvalidArgument>("Model::operator()", "another shape", {"(4)", "f32 (2, 5)"},
                              [] {
                                uncompiled()(zeros({2, 5}));
                              }),
      misuse<InvalidArgument>("Model::operator()", "another dtype", {"'dense'", "i32 (2, 4)"},
                              [] {
                                uncompiled()(zeros({2, 4}, DType::i32));
                              }),
      misuse<InvalidArgument>("Model::operator()", "an undefined tensor", {"(4)", "got an undefined tensor"},
                              [] { uncompiled()(Tensor()); }),
      misuse<InvalidArgument>("Model::operator()", "a tensor that was moved from", {"(4)", "got an undefined tensor"},
                              [] {
                                uncompiled()(moved_from(zeros({2, 4})));
                              }),
      misuse<InvalidArgument>("Model::operator()", "two inputs for one", {"1 inputs", "'input_layer'", "got 2"},
                              [] {
                                uncompiled()(std::vector{zeros({2, 4}), zeros({2, 4})});
                              }),
      misuse<LogicError>("Model::operator()", "training outside run()", {"run()"},
                         [] {
                           mirrored()(zeros({2, 4}), Mode::train);
                         }),
      misuse<InvalidArgument>("Model::set_weights", "another number of them", {"'functional'", "got 1"},
                              [] {
                                uncompiled().set_weights({zeros({4, 3})});
                              }),
      misuse<InvalidArgument>("Model::set_weights", "another shape", {"(4, 3)", "f32 (3, 4)"},
                              [] {
                                uncompiled().set_weights({zeros({3, 4}), zeros({3})});
                              }),
      misuse<InvalidArgument>("Model::set_weights", "another dtype, and all weights stay", {"(3)"},
                              [] {
                                const Model model = uncompiled();
                                const std::vector<float> before = model.get_weights()[0].to_vector<float>();
                                try {
                                  model.set_weights({zeros({4, 3}), zeros({3}, DType::i64)});
                                } catch (...) {
                                  require<BrokenInvariant>(model.get_weights()[0].to_vector<float>() == before,
                                                           "changed");
                                  throw;
                                }
                              }),
      misuse<InvalidArgument>("Model::set_weights", "undefined tensors",
                              {"'dense/kernel'", "(4, 3)", "got an undefined tensor"},
                              [] { uncompiled().set_weights(std::vector<Tensor>(2)); }),
  };
}

Rows multi_gpu_rows() {
  using Devices = std::vector<std::string>;
  const auto with = [](const MultiGpuOptions& options) { return [=] { multi_gpu_model(uncompiled(), options); }; };
  return {
      misuse<InvalidArgument>("multi_gpu_model", "one device", {"[CPU:0]"}, with({.devices = Devices{"CPU:0"}})),
      misuse<InvalidArgument>("multi_gpu_model", "a device that is not there", {"CPU:64", "PUs", "CPU:63"},
                              with({.devices = Devices{"CPU:0", "CPU:64"}})),
      misuse<InvalidArgument>("multi_gpu_model", "gpus and devices", {"got both"},
                              with({.gpus = 2, .devices = Devices{"CPU:0", "CPU:1"}})),
      misuse<InvalidArgument>("multi_gpu_model", "GPUs that are not there", {"multi_gpu_model", "100", "GPU:0"},
                              with({.gpus = 100})),
      misuse<LogicError>("multi_gpu_model", "a model of a strategy", {"2 replicas"},
                         [] {
                           multi_gpu_model(mirrored(), {.devices = {"CPU:0", "CPU:1"}});
                         }),
      misuse<InvalidArgument>("Estimator::train", "no input function", {"input function"},
                              [] { model_to_estimator(compiled()).train(nullptr); }),
      misuse<InvalidArgument>("make_parallel", "no device", {"multi_gpu_model", "got 0"},
                              [] { make_parallel(uncompiled(), 0); }),
      misuse<LogicError>("model_to_estimator", "before compile()", {"compile()"},
                         [] { model_to_estimator(uncompiled()); }),
      misuse<InvalidArgument>("make_parallel", "one device", {"multi_gpu_model", "got 1"},
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
      misuse<LogicError>("Model::fit", "before compile()", {"fit()", "compile()"}, [] { uncompiled().fit(batches()); }),
      misuse<LogicError>("Model::evaluate", "before compile()", {"evaluate()", "compile()"},
                         [] { uncompiled().evaluate(batches()); }),
      misuse<LogicError>("Model::optimizer", "before compile()", {"optimizer()", "compile()"},
                         [] { (void)uncompiled().optimizer(); }),
      misuse<InvalidArgument>("Model::compile", "losses for two outputs of one", {"compile()"},
                              [] { uncompiled().compile(SGD(), std::vector<OutputTraining>(2)); }),
      misuse<InvalidArgument>("Model::fit", "no data", {"empty"}, fit(batches().take(0))),
      misuse<InvalidArgument>("Model::fit", "data without targets", {"targets"},
                              fit(Dataset::from_tensors(zeros({6, 4})).batch(2))),
      misuse<InvalidArgument>("Model::fit", "another shape", {"(4)", "f32 (2, 5)"}, fit(wide())),
      misuse<InvalidArgument>("Model::fit", "another dtype", {"'dense'", "i32 (2, 4)"},
                              fit(Dataset::from_tensors(zeros({6, 4}, DType::i32), zeros({6}, DType::i64)).batch(2))),
      misuse<InvalidArgument>("Model::fit", "examples that are not batched", {"batch()"}, fit(examples())),
      misuse<InvalidArgument>("Model::fit", "labels that are no classes", {"label 3", "[0, 3)"},
                              fit(Dataset::from_tensors(zeros({2, 4}), Tensor::full({2}, 3, DType::i64)).batch(2))),
      misuse<InvalidArgument>("Model::fit", "fewer examples than replicas", {"2 replicas", "1 replica"},
                              [] { mirrored().fit(examples(1).batch(1)); }),
      misuse<InvalidArgument>("Model::fit", "data without end and no steps_per_epoch", {"steps_per_epoch"},
                              fit(batches().repeat())),
      misuse<InvalidArgument>("Model::fit", "epochs of no steps", {"steps_per_epoch", "got 0"},
                              fit(batches(), {.steps_per_epoch = 0})),
      misuse<InvalidArgument>("Model::fit", "a negative number of epochs", {"fit()", "initial_epoch", "got -1 and 0"},
                              fit(batches(), {.epochs = -1})),
      misuse<InvalidArgument>("Model::fit", "a negative first epoch", {"fit()", "initial_epoch", "got 1 and -1"},
                              fit(batches(), {.initial_epoch = -1})),
      misuse<InvalidArgument>("Model::fit", "a callback that is null", {"fit()"},
                              fit(batches(), {.callbacks = {nullptr}})),
      misuse<InvalidArgument>("Model::fit", "comparing every -1 steps", {"verify_every", "got -1"},
                              fit(batches(), {.verify_every = -1})),
      misuse<InvalidArgument>("Model::fit", "shares for other replicas", {"[1, 2]", "1 replica"},
                              fit(batches(), {.distribute = {.shares = {1, 2}}})),
      misuse<InvalidArgument>("Model::fit", "batch_size for a data set", {"batch_size", "batch()"},
                              fit(batches(), {.batch_size = 2})),
      misuse<InvalidArgument>("Model::fit", "validation_split for a data set", {"validation_split", "take()", "skip()"},
                              fit(batches(), {.validation_split = 0.5})),
      misuse<InvalidArgument>("Model::fit", "a validation_split of all examples", {"between 0 and 1", "got 1"},
                              [] { compiled().fit(tensors(), {.validation_split = 1}); }),
      misuse<InvalidArgument>("Model::fit", "validation and validation_split", {"got both"},
                              [] { compiled().fit(tensors(), {.validation = batches(), .validation_split = 0.5}); }),
      misuse<InvalidArgument>("Model::fit", "validation every 0 epochs", {"validation_freq", "got 0"},
                              fit(batches(), {.validation = batches(), .validation_freq = 0})),
      misuse<InvalidArgument>("Model::fit", "validation of 0 steps", {"validation_steps", "got 0"},
                              fit(batches(), {.validation = batches(), .validation_steps = 0})),
      misuse<InvalidArgument>("Model::fit", "empty validation data", {"`validation`", "empty"},
                              fit(batches(), {.validation = batches().take(0)})),
      misuse<InvalidArgument>("Model::fit", "endless validation data", {"`validation`", "validation_steps"},
                              fit(batches(), {.validation = batches().repeat()})),
      misuse<InvalidArgument>("Model::fit", "verbose without a meaning", {"verbose", "got 3"},
                              fit(batches(), {.verbose = 3})),
      misuse<InvalidArgument>("Model::fit", "tensors with other numbers of rows", {"f32 (6, 4)", "i64 (5)"},
                              [] {
                                compiled().fit(zeros({6, 4}), zeros({5}, DType::i64));
                              }),
      misuse<InvalidArgument>("Model::fit", "an undefined target", {"defined y"},
                              [] {
                                compiled().fit(zeros({6, 4}), Tensor());
                              }),
      misuse<InvalidArgument>("Model::fit", "tensors in batches of 0", {"got 0"},
                              [] { compiled().fit(tensors(), {.batch_size = 0}); }),
      misuse<InvalidArgument>("Model::evaluate", "0 steps", {"steps", "got 0"},
                              [] { compiled().evaluate(batches(), {.steps = 0}); }),
      misuse<InvalidArgument>("Model::predict", "batch_size for a data set", {"batch_size", "batch()"},
                              [] { compiled().predict(batches(), {.batch_size = 2}); }),
      misuse<InvalidArgument>("Model::evaluate", "a callback that is null", {"evaluate()"},
                              [] { compiled().evaluate(batches(), {.callbacks = {nullptr}}); }),
      misuse<InvalidArgument>("Model::predict", "a callback that is null", {"predict()"},
                              [] { compiled().predict(batches(), {.callbacks = {nullptr}}); }),
      misuse<InvalidArgument>("Model::evaluate", "no data", {"empty"}, [] { compiled().evaluate(batches().take(0)); }),
      misuse<InvalidArgument>("Model::evaluate", "data without end", {"take()"},
                              [] { compiled().evaluate(batches().repeat()); }),
      misuse<InvalidArgument>("Model::predict", "another shape", {"(4)", "f32 (2, 5)"},
                              [] { compiled().predict(wide()); }),
      misuse<LogicError>("Model::fit", "in a replica", {"fit()"},
                         [] {
                           Model model = mirrored();
                           model.strategy().run([&] { model.fit(batches()); });
                         }),
      misuse<LogicError>("Model::fit", "in another strategy's scope", {"scope"},
                         [] {
                           Model model = mirrored();
                           const MirroredStrategy other({"CPU:0"});
                           const auto inside = other.scope();
                           model.fit(batches());
                         }),
  };
}

Rows on_batch_rows() {
  const Tensor x = zeros({6, 4});
  const Tensor y = zeros({6}, DType::i64);
  return {
      misuse<LogicError>("Model::train_on_batch", "before compile()", {"train_on_batch()", "compile()"},
                         [] { uncompiled().train_on_batch(tensors()); }),
      misuse<LogicError>("Model::test_on_batch", "before compile()", {"test_on_batch()", "compile()"},
                         [] { uncompiled().test_on_batch(tensors()); }),
      misuse<LogicError>("Model::train_on_batch", "moved from", {"no value"},
                         [] { moved_from(compiled()).train_on_batch(tensors()); }),
      misuse<LogicError>("Model::train_on_batch", "in a replica", {"train_on_batch()", "outside run()"},
                         [] {
                           Model model = mirrored();
                           model.strategy().run([&] { model.train_on_batch(tensors()); });
                         }),
      misuse<LogicError>("Model::predict_on_batch", "in a replica", {"predict_on_batch()", "outside run()"},
                         [] {
                           Model model = mirrored();
                           model.strategy().run([&] { model.predict_on_batch(zeros({6, 4})); });
                         }),
      misuse<InvalidArgument>("Model::train_on_batch", "no loss", {"no loss", "compile()", "add_loss"},
                              [=] {
                                Model model = uncompiled();
                                model.compile(SGD());
                                model.train_on_batch(x, y);
                              }),
      misuse<InvalidArgument>("Model::train_on_batch", "no target", {"targets", "only x"},
                              [=] { compiled().train_on_batch({{x}}); }),
      misuse<InvalidArgument>("Model::train_on_batch", "an undefined target", {"defined y"},
                              [=] { compiled().train_on_batch(x, Tensor()); }),
      misuse<InvalidArgument>("Model::train_on_batch", "another shape", {"(4)", "f32 (6, 5)"},
                              [=] {
                                compiled().train_on_batch(zeros({6, 5}), y);
                              }),
      misuse<InvalidArgument>("Model::train_on_batch", "other numbers of rows", {"f32 (6, 4)", "i64 (5)"},
                              [=] { compiled().train_on_batch(x, zeros({5}, DType::i64)); }),
      misuse<InvalidArgument>("Model::train_on_batch", "a scalar", {"axis", "f32 ()"},
                              [=] { compiled().train_on_batch(Tensor::scalar(1.0F), y); }),
      misuse<InvalidArgument>("Model::train_on_batch", "no rows", {"no rows"},
                              [] { compiled().train_on_batch(tensors(0)); }),
      misuse<InvalidArgument>("Model::train_on_batch", "class weights and sample weights", {"at the same time"},
                              [=] {
                                compiled().train_on_batch({{x}, {y}, {zeros({6})}}, {{0, 2.0}});
                              }),
      misuse<InvalidArgument>("Model::test_on_batch", "no target", {"targets", "only x"},
                              [=] { compiled().test_on_batch({{x}}); }),
      misuse<InvalidArgument>("Model::predict_on_batch", "another shape", {"(4)", "f32 (6, 5)"},
                              [] {
                                compiled().predict_on_batch(zeros({6, 5}));
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
      misuse<InputError>("load_model", "a file that is not there", {"m.keras"},
                         [=] { load_model(nowhere + "m.keras"); }),
      misuse<InvalidArgument>("load_model", "an unknown extension", {"extension"}, [] { load_model("m.onnx"); }),
      misuse<InputError>("load_model", "a damaged .keras", {"damaged.keras"},
                         [=] { load_model(damaged("damaged.keras")); }),
      misuse<InputError>("load_model", "a damaged .h5", {"damaged.h5", "HDF5"},
                         [=] { load_model(damaged("damaged.h5")); }),
      misuse<InputError>("save_model", "a folder that is not there", {"nowhere/m.keras"},
                         [=] { save_model(compiled(), nowhere + "m.keras"); }),
      misuse<InputError>("Model::save_weights", "a folder that is not there", {"nowhere/w.safetensors"},
                         [=] { compiled().save_weights(nowhere + "w.safetensors"); }),
      misuse<InputError>("Model::load_weights", "a damaged file", {"damaged.safetensors"},
                         [=] { compiled().load_weights(damaged("damaged.safetensors")); }),
      misuse<LogicError>("load_model", "in a replica", {"load_model"},
                         [] {
                           MirroredStrategy({"CPU:0", "CPU:1"}).run([] { load_model("m.keras"); });
                         }),
      misuse<InputError>("load_fashion_mnist", "a folder that is not there", {"nowhere/"},
                         [=] { load_fashion_mnist({.directory = nowhere}); }),
      misuse<InputError>("load_cifar10", "a folder that is not there", {"nowhere/"},
                         [=] { load_cifar10({.directory = nowhere}); }),
      misuse<InputError>("hdf5_dataset", "a file that is not there", {"nowhere/d.h5"},
                         [=] { hdf5_dataset(nowhere + "d.h5", "x"); }),
      misuse<InputError>("read_csv", "a file that is not there", {"nowhere/t.csv"},
                         [=] { read_csv(nowhere + "t.csv"); }),
      misuse<InvalidArgument>("csv_examples", "no columns", {"column"}, [] { csv_examples({}); }),
      misuse<InvalidArgument>(
          "csv_examples", "columns of different lengths", {"\"long\"", "(5)", "\"short\"", "(3)"},
          [] {
            csv_examples({{"short", CsvType::number, zeros({3}), {}}, {"long", CsvType::number, zeros({5}), {}}});
          }),
      misuse<InvalidArgument>("csv_examples", "a column of two axes", {"wide", "(3, 2)"},
                              [] {
                                csv_examples({{"wide", CsvType::number, zeros({3, 2}), {}}});
                              }),
      misuse<InvalidArgument>("csv_examples", "a target that was moved from", {"y"},
                              [] {
                                csv_examples({{"x", CsvType::number, zeros({2}), {}},
                                              {"y", CsvType::number, moved_from_tensor(), {}}},
                                             "y");
                              }),
      misuse<InputError>("read_npy", "a file that is not there", {"nowhere/a.npy"},
                         [=] { read_npy(nowhere + "a.npy"); }),
      misuse<InputError>("read_npz", "a file that is not there", {"nowhere/a.npz"},
                         [=] { read_npz(nowhere + "a.npz"); }),
      misuse<InputError>("tfrecord_dataset", "a file that is not there", {"nowhere/r"},
                         [=] {
                           tfrecord_dataset({nowhere + "r"}, {.inputs = {{"x", FeatureType::numbers}}});
                         }),
      misuse<InvalidArgument>("timeseries_dataset_from_array", "data that were moved from", {"data"},
                              [] { timeseries_dataset_from_array(moved_from_tensor(), {}, 1); }),
      misuse<InputError>("image_dataset_from_directory", "a folder that is not there", {"nowhere/"},
                         [=] { image_dataset_from_directory(nowhere); }),
      misuse<InputError>("read_image", "no image", {"damaged.png", "JPEG", "BMP"},
                         [=] { read_image(damaged("damaged.png")); }),
  };
}

}  // namespace lockstep::test
