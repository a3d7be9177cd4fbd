#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/numpy_file.h>
#include <lockstep/models/files/zip_file.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/thread/device_scope.h>

#include "data_files.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A .npy file of version 1 with this header, as numpy.save writes it.
std::string npy_bytes(const std::string& header, const std::string& elements) {
  std::string padded = header;
  while ((10 + padded.size() + 1) % 64 != 0) padded += ' ';
  padded += '\n';
  const std::string length{static_cast<char>(padded.size() & 0xff), static_cast<char>(padded.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + padded + elements;
}

std::string header_of(const std::string& type, const std::string& shape, bool fortran = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, fortran ? "True" : "False", shape);
}

template <class T>
std::string bytes_of(const std::vector<T>& values, bool reversed = false) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  for (std::size_t i = 0; reversed && i < bytes.size(); i += sizeof(T))
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
  return bytes;
}

struct NumpyFile : testing::Test {
  std::filesystem::path write(const std::string& bytes) const {
    const std::string file = directory / "array.npy";
    test::write_text(file, bytes);
    return file;
  }
  Tensor read(const std::string& type, const std::string& shape, const std::string& elements) const {
    return read_npy(write(npy_bytes(header_of(type, shape), elements)));
  }
  /// Reading `bytes` fails with one line that names the file and contains `complaint`.
  void expect_refused(const std::string& bytes, const std::string& complaint) const {
    const std::filesystem::path file = write(bytes);
    EXPECT_THAT([&] { read_npy(file); }, ThrowsMessage<InputError>(AllOf(testing::StartsWith(file.string() + ": "),
                                                                         HasSubstr(complaint), Not(HasSubstr("\n")))));
  }

  test::TemporaryFolder directory;
};

TEST_F(NumpyFile, ReadsEveryTypeOfNumber) {
  const auto expect = [&](const std::string& type, const std::string& elements, DType dtype,
                          std::vector<double> values) {
    const Tensor array = read(type, "(2,)", elements);
    EXPECT_EQ(array.dtype(), dtype) << type;
    EXPECT_EQ(array.to_vector<double>(), values) << type;
  };
  expect("<f4", bytes_of<float>({0.5, -2}), DType::f32, {0.5, -2});
  expect(">f4", bytes_of<float>({0.5, -2}, true), DType::f32, {0.5, -2});
  expect("<f8", bytes_of<double>({0.5, -2}), DType::f32, {0.5, -2});
  expect("|i1", bytes_of<std::int8_t>({-1, 2}), DType::i32, {-1, 2});
  expect("<i2", bytes_of<std::int16_t>({-300, 2}), DType::i32, {-300, 2});
  expect(">i2", bytes_of<std::int16_t>({-300, 2}, true), DType::i32, {-300, 2});
  expect("<u2", bytes_of<std::uint16_t>({65535, 2}), DType::i32, {65535, 2});
  expect("<i4", bytes_of<std::int32_t>({-70000, 2}), DType::i32, {-70000, 2});
  expect("<u4", bytes_of<std::uint32_t>({4294967295, 2}), DType::i64, {4294967295, 2});
  expect("<i8", bytes_of<std::int64_t>({-5, 1L << 40}), DType::i64, {-5, 1099511627776});
  expect("<u8", bytes_of<std::uint64_t>({5, 1UL << 40}), DType::i64, {5, 1099511627776});
  expect("|u1", bytes_of<std::uint8_t>({0, 255}), DType::u8, {0, 255});
  expect("|b1", bytes_of<std::uint8_t>({0, 1}), DType::boolean, {0, 1});
}

TEST_F(NumpyFile, ReadsHalfPrecision) {
  const Tensor array = read("<f2", "(6,)", bytes_of<std::uint16_t>({0x3c00, 0xc000, 0x0001, 0x7bff, 0xfc00, 0x7e00}));
  const std::vector<float> values = array.to_vector<float>();
  EXPECT_EQ(std::vector(values.begin(), values.end() - 1),
            (std::vector<float>{1, -2, std::ldexp(1.0F, -24), 65504, -std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(std::isnan(values.back()));
}

TEST_F(NumpyFile, ReadsShapesAndOrders) {
  const std::string elements = bytes_of<float>({0, 1, 2, 3, 4, 5});
  EXPECT_THAT(read("<f4", "(2, 3)", elements).to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  const Tensor columns = read_npy(write(npy_bytes(header_of("<f4", "(2, 3)", true), elements)));
  EXPECT_EQ(columns.shape(), (Shape{2, 3}));
  EXPECT_THAT(columns.to_vector<float>(), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(read("<f4", "()", bytes_of<float>({7})).item<float>(), 7);
  EXPECT_EQ(read("<f4", "(3, 0)", "").shape(), (Shape{3, 0}));
}

TEST_F(NumpyFile, ReadsLaterVersionsAndCompressedFiles) {
  const std::string first = npy_bytes(header_of("|u1", "(2,)"), "ab");
  const std::string second =
      first.substr(0, 6) + std::string("\x02\x00", 2) + first.substr(8, 2) + std::string(2, '\0') + first.substr(10);
  for (const std::string& bytes : {second, test::gzip(first)})
    EXPECT_THAT(read_npy(write(bytes)).to_vector<int>(), ElementsAre('a', 'b'));
}

TEST_F(NumpyFile, RefusesDamagedFiles) {
  const std::string header = header_of("<f4", "(2,)");
  const std::string elements(8, '\0');
  expect_refused("", "is not a .npy file");
  expect_refused("PK\x03\x04", "is not a .npy file");
  expect_refused(std::string("\x93NUMPY", 6), "ends within its header");
  expect_refused(npy_bytes(header, elements).substr(0, 40), "ends within its header");
  expect_refused(std::string("\x93NUMPY\x04\x00\x00\x00", 10), "version 4");
  expect_refused(npy_bytes(header, elements + "x"), "has 9 bytes of elements, its header says 8 for (2) of f4");
  expect_refused(npy_bytes(header, ""), "has 0 bytes");
  expect_refused(npy_bytes("[]", elements), "its header is damaged");
  expect_refused(npy_bytes("{'descr': '<f4', 'shape': (2,), 'more': 1}", elements), "unknown entry \"more\"");
  expect_refused(npy_bytes("{'descr': '<f4'}", elements), "no 'shape'");
  expect_refused(npy_bytes("{'shape': (2,)}", elements), "no 'descr'");
  expect_refused(npy_bytes("{'descr': '<f4", elements), "its header is damaged");
}

TEST_F(NumpyFile, RefusesWhatIsNotAnArrayOfNumbers) {
  expect_refused(npy_bytes(header_of("|O", "(2,)"), ""), "the type \"O\"");
  expect_refused(npy_bytes(header_of("<U3", "(2,)"), ""), "the type \"U3\"");
  expect_refused(npy_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", ""), "several fields");
  expect_refused(npy_bytes(header_of("<u8", "(1,)"), std::string(8, '\xff')), "18446744073709551615 does not fit");
  expect_refused(npy_bytes(header_of("<f4", "(-2,)"), ""), "no valid shape");
  expect_refused(npy_bytes(header_of("<f4", "(99999999999999999999,)"), ""), "no valid shape");
  expect_refused(npy_bytes(header_of("<f4", "(4611686018427387904, 4)"), ""), "is too large");
  expect_refused(npy_bytes(header_of("|u1", "(2305843009213693952, 4, 0)"), ""), "is too large");
  expect_refused(npy_bytes(header_of("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), ""), "more than 8 axes");
}

TEST_F(NumpyFile, ReadsTheArraysOfAnArchive) {
  const std::string x = npy_bytes(header_of("<f4", "(2,)"), bytes_of<float>({1, 2}));
  const std::string y = npy_bytes(header_of("|u1", "(1,)"), "a");
  const auto span_of = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const std::string file = directory / "arrays.npz";
  write_file_atomically(file, make_zip(std::vector<ZipEntry>{{"x.npy", span_of(x)}, {"y.npy", span_of(y)}}));
  const std::map<std::string, Tensor> arrays = read_npz(file);
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_THAT(arrays.at("x").to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(arrays.at("y").to_vector<int>(), ElementsAre('a'));
  write_file_atomically(file, make_zip(std::vector<ZipEntry>{{"x.npy", span_of("damaged")}}));
  EXPECT_THAT([&] { read_npz(file); }, ThrowsMessage<InputError>(file + ": x: is not a .npy file"));
  EXPECT_THAT([&] { read_npy(file); },
              ThrowsMessage<InputError>(file + ": is not a .npy file but a zip archive, as .npz files are"));
  EXPECT_THAT([&] { read_npz(write("x")); }, ThrowsMessage<InputError>(HasSubstr("cannot be opened as a zip archive")));
  EXPECT_THAT(
      [&] { read_npz(write(x)); },
      ThrowsMessage<InputError>(HasSubstr(": is a .npy file of one array; a .npz file of named arrays is needed")));
  EXPECT_THAT([&] { read_npz(directory / "none.npz"); }, ThrowsMessage<InputError>(HasSubstr("there is no such file")));
  EXPECT_THAT([&] { read_npy(directory / "none.npy"); }, ThrowsMessage<InputError>(HasSubstr("there is no such file")));
}

TEST_F(NumpyFile, IsReadIntoHostMemoryInADeviceScopeOfAGpu) {
  const DeviceScope there(LogicalDevice{DeviceKind::gpu, 0});
  EXPECT_THAT(read("<f4", "(2,)", bytes_of<float>({1, 2})).to_vector<float>(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace lockstep
