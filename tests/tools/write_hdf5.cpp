// write_hdf5 FILE: twelve small images of three classes to train with, and four to test with, for `--data hdf5:FILE`.

#include <cstdint>
#include <vector>

#include <hdf5.h>

namespace {

void write(hid_t file, const char* name, const std::vector<hsize_t>& sizes, const std::vector<std::uint8_t>& values) {
  const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
  const hid_t data = H5Dcreate2(file, name, H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(data, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(data);
  H5Sclose(space);
}

void write_split(hid_t file, const char* x, const char* y, std::size_t count) {
  constexpr std::size_t pixels = 32 * 32 * 3;
  std::vector<std::uint8_t> images(count * pixels);
  std::vector<std::uint8_t> labels(count);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::uint8_t>(i * 7 % 256);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::uint8_t>(i % 3);
  write(file, x, {count, 32, 32, 3}, images);
  write(file, y, {count}, labels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) return 1;
  write_split(file, "x_train", "y_train", 12);
  write_split(file, "x_test", "y_test", 4);
  return H5Fclose(file) < 0 ? 1 : 0;
}
