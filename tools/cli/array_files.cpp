#include "array_files.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <lockstep/models/data/hdf5_dataset.h>
#include <lockstep/models/data/numpy_file.h>
#include <lockstep/models/files/hdf5_file.h>

#include "array_data.h"

namespace lockstep::cli {
namespace {

/// Checks that a file has the arrays that its use needs. `to_train` and `to_use` name those to train with and those of
/// which one is always needed.
void check_parts(const ArrayPart& train, const ArrayPart& test, const char* to_train, const char* to_use,
                 const DataOptions& options) {
  const bool trains = options.use == DataUse::training;
  require<InputError>(!trains || (train.examples && train.targets), "--data {}: has no {} to train with",
                      options.source, to_train);
  require<InputError>(!trains || !test.examples || test.targets,
                      "--data {}: has x_test without y_test, which validation needs", options.source);
  require<InputError>(train.examples || test.examples, "--data {}: has no {}", options.source, to_use);
}

ArrayPart hdf5_part(const std::string& file, const std::vector<std::string>& names, const std::string& part) {
  const auto if_there = [&](const std::string& name) {
    return std::ranges::find(names, name) == names.end() ? std::string() : name;
  };
  ArrayPart found{.x = if_there("x_" + part), .y = if_there("y_" + part)};
  if (!found.x.empty()) found.examples = hdf5_dataset(file, found.x, found.y);
  if (!found.y.empty()) found.targets = hdf5_dataset(file, found.y);
  return found;
}

using Arrays = std::map<std::string, Tensor>;

/// An array of a .npz file, undefined if there is none of this name; booleans become 0 and 1.
Tensor array_named(const Arrays& arrays, const std::string& name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) return {};
  const Tensor& array = found->second;
  return array.dtype() == DType::boolean ? Tensor::from(array.to_vector<std::uint8_t>(), array.shape()) : array;
}

ArrayPart numpy_part(const Arrays& arrays, const std::string& x, const std::string& y, const std::string& source) try {
  const Tensor inputs = array_named(arrays, x);
  const Tensor targets = array_named(arrays, y);
  ArrayPart found{.x = inputs.defined() ? x : "", .y = targets.defined() ? y : ""};
  if (inputs.defined()) found.examples = Dataset::from_tensors(inputs, targets);
  if (targets.defined()) found.targets = Dataset::from_tensors(targets);
  return found;
} catch (Error& error) {
  error.add_context(fmt::format("--data {}: {} and {}", source, x, y));
  throw;
}

}  // namespace

TrainingData load_hdf5(const std::string& file, const DataOptions& options, const ModelInput& model) {
  require(!file.empty(), "--data hdf5:FILE needs a file name");
  const std::vector<std::string> names = hdf5::Reader(file).names_in("/");
  ArrayPart train = hdf5_part(file, names, "train");
  ArrayPart test = hdf5_part(file, names, "test");
  check_parts(train, test, "x_train and y_train", "x_train or x_test", options);
  return array_data(std::move(train), std::move(test), options, model);
}

TrainingData load_numpy(const std::string& file, const DataOptions& options, const ModelInput& model) {
  require(!file.empty(), "--data numpy:FILE.npz needs a file name");
  const Arrays arrays = read_npz(file);
  const bool in_parts = arrays.contains("x_train") || arrays.contains("x_test");
  const auto part = [&](const char* x, const char* y) { return numpy_part(arrays, x, y, options.source); };
  ArrayPart train = in_parts ? part("x_train", "y_train") : part("x", "y");
  ArrayPart test = part("x_test", "y_test");
  check_parts(train, test, "x_train and y_train, or x and y,", "x_train, x_test or x", options);
  return array_data(std::move(train), std::move(test), options, model);
}

}  // namespace lockstep::cli
