#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/data/image_files.h>
#include <support/errors.h>
#include <support/small_problem.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/models/data/hdf5_dataset.h>
#include <lockstep/models/data/idx.h>
#include <lockstep/models/data/image_directory.h>
#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/training/callbacks/lambda_callback.h>

// Files that change while fit reads them: either an error that names the file or no effect, never a different model.

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A model for rows of this shape, with two classes.
Model model_of(const Shape& row) {
  const MirroredStrategy strategy = test::mirrored(2);
  const auto inside = strategy.scope();
  const Symbol input = Input(row);
  Model model(input, Dense({.units = 2})(Flatten()(input)), {.seed = 5});
  model.compile(SGD({.learning_rate = 1e-6}), SparseCategoricalCrossentropy{{.from_logits = true}});
  return model;
}

/// Options with a callback that calls `harm` once, after the first step.
FitOptions with(const std::function<void()>& harm) {
  const auto first_step = [harm](Model&, const StepReport& report) {
    if (report.step == 0) harm();
  };
  return {.epochs = 3,
          .callbacks = {std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_train_batch_end = first_step})}};
}

/// A way to damage a file.
struct Harm {
  const char* name;
  void (*to)(const std::string& path);
  friend void PrintTo(const Harm& harm, std::ostream* out) { *out << harm.name; }
};
void cut(const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); }
void empty(const std::string& path) { fs::resize_file(path, 0); }
void remove(const std::string& path) { fs::remove(path); }
/// Overwrites the second half, which in an HDF5 file contains only numbers.
void overwrite(const std::string& path) {
  const auto half = static_cast<std::streamoff>(fs::file_size(path) / 2);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(half);
  file << std::string(static_cast<std::size_t>(half), '\x5a');
  file.close();
  fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::seconds(1));
}

class ADataFileUnderARunningEpoch : public testing::TestWithParam<Harm> {
 protected:
  void expect_named(Model model, const Dataset& data, const std::string& path) const {
    EXPECT_THAT(test::error_of<InputError>([&] { model.fit(data, with([&] { GetParam().to(path); })); }),
                AllOf(HasSubstr(path), Not(HasSubstr("\n"))));
  }
  const test::TemporaryFolder folder_;
};

TEST_P(ADataFileUnderARunningEpoch, OfHdf5IsNamed) {
  const std::string path = folder_ / "data.h5";
  constexpr std::int64_t rows = 64;
  constexpr std::int64_t columns = 1 << 16;  // 16 rows are a block that is read at once
  {
    hdf5::Writer writer(rows * columns * sizeof(float));
    writer.add_dataset("x", test::random_tensor({rows, columns}, 1).to_vector<float>(), {rows, columns});
    writer.add_dataset("y", std::vector<float>(rows), {rows});
    writer.write_to(path);
  }
  const Dataset data = hdf5_dataset(path, "x", "y").map([](const Example& example) {
    return Example{example.inputs, {Tensor::scalar(std::int64_t{0})}};
  });
  expect_named(model_of({columns}), data.batch(4), path);
}

TEST_P(ADataFileUnderARunningEpoch, OfAFolderOfImagesIsNamed) {
  for (const char* name : {"a", "b"}) {
    fs::create_directory(folder_ / name);
    for (int i = 0; i < 8; ++i)
      test::write_png(folder_ / fmt::format("{}/{}.png", name, i),
                      {.width = 4, .height = 4, .bytes = std::vector<std::uint8_t>(48, static_cast<std::uint8_t>(i))});
  }
  const Dataset data =
      image_dataset_from_directory(folder_.path(), {.image_size = {4, 4}, .shuffle = false}).dataset.batch(4);
  expect_named(model_of({4, 4, 3}), data, folder_ / "b/7.png");
}

TEST_P(ADataFileUnderARunningEpoch, ThatIsReadAtOnceDoesNoHarm) {
  const std::string path = folder_ / "images-idx3-ubyte";
  std::string bytes("\0\0\x08\x03\0\0\0\x40\0\0\0\x04\0\0\0\x04", 16);
  for (int i = 0; i < 64 * 16; ++i) bytes.push_back(static_cast<char>(i * 7));
  const auto weights_after = [&](const FitOptions& options) {
    test::write_text(path, bytes);
    const Tensor images = read_idx(path, 3);
    const Dataset data =
        Dataset::from_tensors(images, Tensor::full({64}, 1, DType::i64)).map([](const Example& example) {
          const Tensor x = Tensor::empty(example.x().shape());
          launch(kernels::Convert{example.x(), x});
          return Example{{x}, example.targets};
        });
    Model model = model_of({4, 4});
    model.fit(data.batch(4), options);
    return test::weights_of(model);
  };
  const auto unharmed = weights_after(with([] {}));
  EXPECT_EQ(weights_after(with([&] { GetParam().to(path); })), unharmed);
}

INSTANTIATE_TEST_SUITE_P(Fault, ADataFileUnderARunningEpoch,
                         testing::Values(Harm{"ThatIsCut", cut}, Harm{"ThatIsEmptied", empty},
                                         Harm{"ThatIsRemoved", remove}, Harm{"ThatIsWrittenOver", overwrite}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep
