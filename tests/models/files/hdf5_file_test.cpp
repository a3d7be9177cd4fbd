#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <support/errors.h>
#include <support/temporary_folder.h>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using hdf5::Reader;
using hdf5::Writer;
using test::contents_of;
using test::error_of;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Hdf5File : public testing::Test {
 protected:
  template <class Action>
  std::string failure(Action&& action) const {
    return error_of<InputError>([&] { action(Reader(file_)); });
  }
  std::string failure() const {
    return failure([](const Reader&) {});
  }
  /// Calls action(file) on the file opened with the HDF5 library, to write what Writer does not support.
  template <class Action>
  void with_hdf5(Action&& action) const {
    const hid_t file = H5Fcreate(file_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    action(file);
    ASSERT_GE(H5Fclose(file), 0);
  }
  void write_example() const {
    Writer file(0);
    file.add_dataset("a/b/values", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
    file.write_to(file_);
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / "file.h5";
};

/// A data set of `elements` values of a type, all of them 1.5 or 1.
void add_typed(hid_t file, const char* name, hid_t type, std::vector<hsize_t> dims, hid_t properties = H5P_DEFAULT) {
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  const std::vector<double> values(64, 1.5);
  if (H5Tget_class(type) == H5T_FLOAT)
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  const std::vector<std::int32_t> whole(64, -3);
  if (H5Tget_class(type) == H5T_INTEGER)
    H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, whole.data());
  H5Dclose(dataset);
  H5Sclose(space);
}

TEST_F(Hdf5File, SplitsListsOfTextAsKerasDoes) {
  std::vector<std::string> texts;
  for (int i = 0; i < 9000; ++i) texts.push_back(fmt::format("layer_{}", i));
  const std::vector<std::string> few(texts.begin(), texts.begin() + 1000);
  {
    Writer file(0);
    file.add_attribute("/", "many", texts);
    file.add_attribute("/", "few", few);
    file.write_to(file_);
  }
  const Reader file(file_);
  EXPECT_TRUE(file.has_attribute("/", "many"));
  EXPECT_EQ(file.attribute("/", "many"), texts);
  EXPECT_EQ(file.attribute("/", "many0").front(), "layer_0");
  EXPECT_EQ(file.attribute("/", "many2").back(), "layer_8999");
  EXPECT_EQ(file.attribute("/", "few"), few);
  EXPECT_FALSE(file.has_attribute("/", "few0"));
}

TEST_F(Hdf5File, ReadsWhatWasWritten) {
  {
    Writer file(0);
    file.add_group("layers/empty");
    file.add_attribute("layers/empty", "name", "größer");
    file.add_dataset("layers/full/0", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
    file.add_dataset("layers/full/1", std::vector<float>{7}, {});
    file.write_to(file_);
  }
  const Reader file(file_);
  EXPECT_THAT(file.names_in("layers"), ElementsAre("empty", "full"));
  EXPECT_THAT(file.names_in("layers/full"), ElementsAre("0", "1"));
  EXPECT_THAT(file.names_in("layers/empty"), IsEmpty());
  EXPECT_THAT(file.names_in("nothing/there"), IsEmpty());
  EXPECT_TRUE(file.has_group("layers/empty"));
  EXPECT_FALSE(file.has_group("layers/other"));
  EXPECT_FALSE(file.has_group("layers/full/0"));  // it is a data set
  EXPECT_EQ(file.shape_of("layers/full/0"), Shape({2, 3}));
  EXPECT_EQ(file.shape_of("layers/full/1"), Shape{});
  std::vector<float> values(6);
  file.read("layers/full/0", values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(Hdf5File, HoldsMoreThanWasGuessed) {
  std::vector<float> values(1 << 20);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  Writer writer(1);
  writer.add_dataset("values", values, {1 << 20});
  writer.write_to(file_);
  std::vector<float> read(values.size());
  Reader(file_).read("values", read);
  EXPECT_EQ(read, values);
}

TEST_F(Hdf5File, ConvertsNumbersOnly) {
  with_hdf5([](hid_t file) {
    add_typed(file, "f64", H5T_IEEE_F64LE, {2});
    add_typed(file, "big_endian", H5T_IEEE_F32BE, {2});
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);  // like NumPy's float16
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_size(half, 2);
    H5Tset_ebias(half, 15);
    add_typed(file, "f16", half, {2});
    H5Tclose(half);
    add_typed(file, "i32", H5T_STD_I32LE, {2});
    add_typed(file, "text", H5T_C_S1, {2});
  });
  const Reader file(file_);
  for (const char* name : {"f64", "big_endian", "f16"}) {
    std::vector<float> values(2);
    file.read(name, values);
    EXPECT_THAT(values, ElementsAre(1.5F, 1.5F)) << name;
  }
  std::vector<float> values(2);
  file.read("i32", values);
  EXPECT_THAT(values, ElementsAre(-3, -3));
  EXPECT_EQ(error_of<InputError>([&] { file.read("text", values); }),
            file_ + ": \"text\" holds neither integers nor floating-point numbers of 16, 32 or 64 bits");
}

TEST_F(Hdf5File, NamesFilesThatCannotBeRead) {
  const std::vector<std::byte> image(1);
  EXPECT_EQ(error_of<InputError>([&] { Reader("model.weights.h5", std::span(image).first(0)); }),
            "model.weights.h5: cannot be opened as an HDF5 file: it is empty");
  EXPECT_EQ(failure(), file_ + ": there is no such file");
  EXPECT_EQ(error_of<InputError>([&] { Reader(folder_.path()); }),
            folder_.path().string() + ": this is not a regular file");
  for (const char* text : {"", "x", "not the right format"}) {
    write_text(file_, text);
    EXPECT_EQ(failure(), file_ + ": this is not an HDF5 file");
  }
}

// HDF5 also looks for a superblock at byte 512, where a .keras archive may contain a file that begins there by chance.
TEST_F(Hdf5File, IsNotAFileInAZipArchive) {
  write_example();
  const std::string whole = contents_of(file_);
  const auto begin = [&](std::string first) {
    first.resize(512);
    write_text(file_, first + whole);
  };
  begin("MATLAB 7.3 MAT-file");
  EXPECT_TRUE(hdf5::is_hdf5(file_));
  EXPECT_EQ(Reader(file_).shape_of("a/b/values"), Shape({2, 3}));
  begin("PK\3\4");
  EXPECT_FALSE(hdf5::is_hdf5(file_));
  EXPECT_EQ(failure(), file_ + ": this is not an HDF5 file");
}

TEST_F(Hdf5File, RefusesEveryFileThatIsCutShort) {
  write_example();
  const std::string whole = contents_of(file_);
  for (std::size_t length = 0; length < whole.size(); length += 61) {
    write_text(file_, whole.substr(0, length));
    EXPECT_THAT(failure(), testing::AnyOf(file_ + ": this is not an HDF5 file",
                                          StartsWith(file_ + ": cannot be opened as an HDF5 file: ")))
        << "at " << length;
  }
}

TEST_F(Hdf5File, NamesMissingAndOddDataSets) {
  with_hdf5([](hid_t file) {
    H5Gclose(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    add_typed(file, "deep", H5T_IEEE_F32LE, std::vector<hsize_t>(9, 1));
  });
  EXPECT_EQ(failure([](const Reader& file) { file.shape_of("none"); }), file_ + ": \"none\" is missing");
  EXPECT_THAT(failure([](const Reader& file) { file.shape_of("group"); }),
              StartsWith(file_ + ": \"group\" cannot be opened as a data set: "));
  EXPECT_EQ(failure([](const Reader& file) { file.shape_of("deep"); }),
            file_ + ": \"deep\" has 9 axes, at most 8 can be");
}

TEST_F(Hdf5File, DoesNotLeaveTheFile) {
  with_hdf5([&](hid_t file) {
    H5Lcreate_external("other.h5", "/", file, "external", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/elsewhere", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(properties, (folder_ / "raw").c_str(), 0, 8);
    const hsize_t dims[] = {2};
    const hid_t space = H5Screate_simple(1, dims, nullptr);
    H5Dclose(H5Dcreate2(file, "raw", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(properties);
  });
  EXPECT_EQ(failure([](const Reader& file) { file.names_in("external/layers"); }),
            file_ + ": \"external\" is a link to elsewhere, which is not followed");
  EXPECT_EQ(failure([](const Reader& file) { file.shape_of("soft"); }),
            file_ + ": \"soft\" is a link to elsewhere, which is not followed");
  EXPECT_EQ(failure([](const Reader& file) { file.shape_of("raw"); }),
            file_ + ": \"raw\" keeps its values in another file, which is not read");
}

// HDF5 allocates no space for values that were never written, so that short files can claim any size.
TEST_F(Hdf5File, ChecksSizesBeforeTheyAreUsed) {
  with_hdf5([](hid_t file) {
    const hsize_t huge = hsize_t{1} << 40;
    const hid_t space = H5Screate_simple(1, &huge, nullptr);
    const hid_t contiguous =
        H5Dcreate2(file, "contiguous", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk = hsize_t{1} << 29;
    H5Pset_chunk(properties, 1, &chunk);
    const hid_t chunks = H5Dcreate2(file, "chunks", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Dclose(contiguous);
    H5Dclose(chunks);
    H5Pclose(properties);
    H5Sclose(space);
  });
  EXPECT_EQ(failure([](const Reader& file) { file.read_rows("contiguous", 0, std::int64_t{1} << 40); }),
            file_ + ": \"contiguous\" claims to have 1099511627776 elements, which the file is too small for");
  EXPECT_EQ(failure([](const Reader& file) { file.read_rows("chunks", 0, 1); }),
            file_ + ": \"chunks\" claims to have 536870912 elements, which the file is too small for");
}

TEST_F(Hdf5File, GivesThreadsTheirTurn) {
  write_example();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 20; ++i) {
        std::vector<float> values(6);
        Reader(file_).read("a/b/values", values);
        EXPECT_EQ(values[5], 6);
        Writer writer(0);
        writer.add_dataset("v", values, {6});
        writer.write_to(folder_ / std::to_string(thread));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Hdf5File, LeavesTheReportOfErrorsAsItWas) {
  const auto report = [](hid_t, void*) -> herr_t { return 0; };
  H5Eset_auto2(H5E_DEFAULT, report, nullptr);
  failure();
  H5E_auto2_t after = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &after, &data);
  EXPECT_EQ(after, static_cast<H5E_auto2_t>(report));
}

}  // namespace
}  // namespace lockstep
