// write_hdf5 FILE [u8|f32 [train|test|x_test]]: writes twelve small images of three classes to train with and four to
// test with, for `--data hdf5:FILE`; with "train" or "test" only those, with "x_test" also without labels.

#include <cstdint>
#include <string>
#include <vector>

#include <hdf5.h>

namespace {

void write(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& sizes,
           const std::vector<std::uint8_t>& values) {
  const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
  const hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(data, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(data);
  H5Sclose(space);
}

void write_split(hid_t file, hid_t type, const char* x, const char* y, std::size_t count) {
  constexpr std::size_t pixels = 32 * 32 * 3;
  std::vector<std::uint8_t> images(count * pixels);
  std::vector<std::uint8_t> labels(count);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::uint8_t>(i * 7 % 256);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::uint8_t>(i % 3);
  write(file, x, type, {count, 32, 32, 3}, images);
  if (y != nullptr) write(file, y, H5T_STD_U8LE, {count}, labels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) return 2;
  const std::string type = argc > 2 ? argv[2] : "u8";
  const std::string parts = argc > 3 ? argv[3] : "all";
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) return 1;
  const hid_t of_images = type == "f32" ? H5T_IEEE_F32LE : H5T_STD_U8LE;
  if (parts == "all" || parts == "train" || parts == "no_y_test")
    write_split(file, of_images, "x_train", "y_train", 12);
  if (parts == "no_y_train") write_split(file, of_images, "x_train", nullptr, 12);
  if (parts != "train")
    write_split(file, of_images, "x_test", parts == "x_test" || parts == "no_y_test" ? nullptr : "y_test", 4);
  return H5Fclose(file) < 0 ? 1 : 0;
}
