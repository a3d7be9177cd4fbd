#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/hdf5_dataset.h>
#include <lockstep/models/files/hdf5_file.h>

#include "row_parts.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Files as other programs would write them.
class Hdf5Dataset : public testing::Test {
 protected:
  /// A data set with values 0, 1, ... of a file type, if the type can hold numbers.
  void add(const std::string& name, hid_t type, std::vector<hsize_t> dims) const {
    const bool fresh = !std::filesystem::exists(path_);
    const hid_t file = fresh ? H5Fcreate(path_.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)
                             : H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t dataset = H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(dataset, 0);
    std::vector<std::int64_t> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    std::iota(values.begin(), values.end(), 0);
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_INTEGER || kind == H5T_FLOAT) {
      ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    }
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
  }
  void expect_refused(const std::string& x, const std::string& y, const std::string& complaint) const {
    EXPECT_THAT([&] { (void)hdf5_dataset(path_, x, y); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(path_), HasSubstr(complaint), Not(HasSubstr("\n")))));
  }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "data.h5";
};

TEST_F(Hdf5Dataset, GivesRowsOfBoth) {
  add("images", H5T_STD_U8LE, {3, 2, 2});
  add("labels", H5T_STD_I64LE, {3});
  const Dataset set = hdf5_dataset(path_, "images", "labels");
  EXPECT_EQ(set.size(), 3);
  for (const std::uint64_t epoch : {0, 1}) {
    std::int64_t row = 0;
    for (const Example& example : set.epoch(epoch)) {
      EXPECT_EQ(example.x().dtype(), DType::u8);
      EXPECT_EQ(example.x().shape(), (Shape{2, 2}));
      EXPECT_EQ(example.x().to_vector<std::int64_t>().front(), 4 * row);
      EXPECT_EQ(example.y().item<std::int64_t>(), row++);
    }
    EXPECT_EQ(row, 3);
  }
  EXPECT_FALSE(hdf5_dataset(path_, "images").epoch().next().value().y().defined());
}

TEST_F(Hdf5Dataset, ReadsInBlocks) {
  constexpr hsize_t rows = 5000;  // rows of 4 KB: a block has about 1000
  add("x", H5T_IEEE_F32LE, {rows, 1024});
  std::int64_t row = 0;
  for (const Batch& batch : hdf5_dataset(path_, "x").batch(700).prefetch().epoch())
    for (std::int64_t i = 0; i < batch.size(); ++i, ++row)
      ASSERT_EQ(batch.x().data<float>()[i * 1024], static_cast<float>(row * 1024));
  EXPECT_EQ(row, static_cast<std::int64_t>(rows));
}

TEST_F(Hdf5Dataset, GivesThePartOfEachBatchThatIsWanted) {
  add("x", H5T_IEEE_F32LE, {5000, 1024});
  add("y", H5T_STD_I32LE, {5000});
  test::expect_parts_like_the_whole(hdf5_dataset(path_, "x", "y").batch(1700).prefetch());
  test::expect_parts_like_the_whole(hdf5_dataset(path_, "x", "y").batch(70));
}

TEST_F(Hdf5Dataset, KeepsIntegersAndMakesOtherNumbersF32) {
  const std::vector<std::pair<hid_t, DType>> types{
      {H5T_STD_U8BE, DType::u8},    {H5T_STD_I8LE, DType::i32},   {H5T_STD_U16LE, DType::i32},
      {H5T_STD_I32BE, DType::i32},  {H5T_STD_U32LE, DType::i64},  {H5T_STD_I64LE, DType::i64},
      {H5T_IEEE_F32BE, DType::f32}, {H5T_IEEE_F64LE, DType::f32},
  };
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    add(name, types[i].first, {2, 2});
    const Batch batch = hdf5_dataset(path_, name).batch(2).epoch().next().value();
    EXPECT_EQ(batch.x().dtype(), types[i].second) << name;
    EXPECT_THAT(batch.x().to_vector<int>(), ElementsAre(0, 1, 2, 3)) << name;
  }
}

TEST_F(Hdf5Dataset, LeavesTheLibraryToOthersBetweenRows) {
  add("x", H5T_IEEE_F32LE, {3});
  DatasetIterator pass = hdf5_dataset(path_, "x").prefetch().epoch();
  EXPECT_TRUE(pass.next());
  const hdf5::Reader reader(path_);  // opening it would wait forever
  EXPECT_EQ(reader.shape_of("x"), Shape{3});
}

TEST_F(Hdf5Dataset, MayBeEmpty) {
  add("x", H5T_IEEE_F32LE, {0, 4});
  EXPECT_EQ(hdf5_dataset(path_, "x").size(), 0);
  EXPECT_FALSE(hdf5_dataset(path_, "x").epoch().next());
}

TEST_F(Hdf5Dataset, RefusesWhatItCannotRead) {
  expect_refused("x", "", "no such file");
  add("x", H5T_IEEE_F32LE, {3, 2});
  add("y", H5T_STD_I32LE, {2});
  add("scalar", H5T_STD_I32LE, {});
  add("text", H5T_STD_B8LE, {3});
  expect_refused("z", "", "\"z\" is missing");
  expect_refused("x", "y", "\"x\" has 3 rows, \"y\" has 2");
  expect_refused("scalar", "", "has no axis of examples");
  expect_refused("x", "text", "neither integers nor floating-point numbers");
}

TEST_F(Hdf5Dataset, NoticesAFileThatChanged) {
  add("x", H5T_IEEE_F32LE, {3});
  const Dataset set = hdf5_dataset(path_, "x");
  std::filesystem::remove(path_);
  EXPECT_THAT([&] { (void)set.epoch().next(); }, ThrowsMessage<InputError>(HasSubstr("no such file")));
  add("x", H5T_IEEE_F32LE, {200});
  const auto has_changed = AllOf(HasSubstr(path_), HasSubstr("has changed while it was in use"));
  EXPECT_THAT([&] { (void)set.epoch().next(); }, ThrowsMessage<InputError>(has_changed));
  const Dataset other = hdf5_dataset(path_, "x");
  std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1));
  EXPECT_THAT([&] { (void)other.epoch().next(); }, ThrowsMessage<InputError>(has_changed));
}

}  // namespace
}  // namespace lockstep
