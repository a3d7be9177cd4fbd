#include "lockstep/models/files/hdf5_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <type_traits>

#include <fcntl.h>
#include <fmt/ranges.h>
#include <hdf5.h>
#include <unistd.h>

#include <lockstep/models/files/deflate.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/regular_file.h>

namespace lockstep::hdf5 {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>,
              "Handle and LibraryLock hold HDF5's types");

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

/// The innermost message of HDF5's last error.
std::string last_error() {
  std::string text;
  const auto innermost = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 1;  // stop after the first message
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

/// A handle that owns an identifier. HDF5 returns a negative identifier on failure, which happens here only if memory
/// runs out.
Handle checked(hid_t id, Handle::Close close, const char* what) {
  require<BrokenInvariant>(id >= 0, "HDF5 cannot make {}: {}", what, last_error());
  return {id, close};
}

void check(herr_t status, const char* what) {
  require<BrokenInvariant>(status >= 0, "HDF5 cannot {}: {}", what, last_error());
}

/// Throws InputError with the system's reason if a file cannot be read; HDF5's messages would hide it.
void check_readable(const std::string& path) {
  require_regular_file(path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require<InputError>(descriptor >= 0, "{}: cannot be opened: {}", path, std::strerror(errno));
  ::close(descriptor);
}

/// The name of a part of a list. Keras splits a list that is too long for one attribute into name0, name1, ...
std::string part_of_attribute(const std::string& name, std::size_t part) { return fmt::format("{}{}", name, part); }

/// Properties for creating links that also create missing parent groups.
Handle make_parents() {
  Handle properties = checked(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "link properties");
  check(H5Pset_create_intermediate_group(properties.id(), 1), "set link properties");
  return properties;
}

}  // namespace

LibraryLock::LibraryLock() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &report_, &report_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

LibraryLock::~LibraryLock() {
  H5Eset_auto2(H5E_DEFAULT, report_, report_data_);
  H5Eclear2(H5E_DEFAULT);  // errors that a thread leaves behind prevent the library from closing
}

bool is_hdf5(const std::string& path) {
  std::array<char, 2> first{};
  std::ifstream(path, std::ios::binary).read(first.data(), first.size());
  const LibraryLock lock;
  return first != std::array{'P', 'K'} && H5Fis_hdf5(path.c_str()) > 0;
}

Reader::Reader(std::string path) : path_(std::move(path)) {
  check_readable(path_);
  require<InputError>(is_hdf5(path_), "{}: this is not an HDF5 file", path_);
  file_ = Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  require<InputError>(file_.valid(), "{}: cannot be opened as an HDF5 file: {}", path_, last_error());
}

Reader::Reader(std::string name, std::span<const std::byte> image) : path_(std::move(name)) {
  require<InputError>(!image.empty(), "{}: cannot be opened as an HDF5 file: it is empty", path_);
  const Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file properties");
  check(H5Pset_fapl_core(access.id(), 1 << 16, 0), "set file properties");
  // HDF5 copies the image, although it takes a pointer to non-const.
  check(H5Pset_file_image(access.id(), const_cast<std::byte*>(image.data()), image.size()), "take a file in memory");
  // HDF5 requires a name that no file has, such as one below a file.
  file_ = Handle(H5Fopen((path_ + "/in memory").c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  require<InputError>(file_.valid(), "{}: cannot be opened as an HDF5 file: {}", path_, last_error());
}

void Reader::fail_at(const std::string& name, const std::string& problem) const {
  fail<InputError>("{}: {:?} {}", path_, name, problem);
}

void Reader::check_room(const std::string& name, std::span<const std::uint64_t> sizes,
                        std::size_t element_bytes) const {
  hsize_t room = 0;
  if (H5Fget_filesize(file_.id(), &room) < 0) fail_at(name, "is in a file of unknown size: " + last_error());
  room *= best_ratio_of_deflate;
  std::uint64_t bytes = element_bytes;
  for (const std::uint64_t size : sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > room)
      fail_at(name,
              fmt::format("claims to have {} elements, which the file is too small for", fmt::join(sizes, " x ")));
}

bool Reader::exists(const std::string& name) const {
  if (name == "/") return true;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    const std::string part = name.substr(0, end);
    H5L_info_t link{};
    if (H5Lexists(file_.id(), part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (H5Lget_info(file_.id(), part.c_str(), &link, H5P_DEFAULT) < 0) fail_at(part, "is damaged: " + last_error());
    if (link.type != H5L_TYPE_HARD) fail_at(part, "is a link to elsewhere, which is not followed");
  }
  return true;
}

Handle Reader::open_group(const std::string& name) const {
  return exists(name) ? Handle(H5Gopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Gclose) : Handle();
}

bool Reader::has_group(const std::string& name) const { return open_group(name).valid(); }

std::vector<std::string> Reader::names_in(const std::string& group) const {
  const Handle handle = open_group(group);
  if (!handle.valid()) return {};
  std::vector<std::string> names;
  const auto add_name = [](hid_t, const char* name, const H5L_info_t*, void* all) -> herr_t {
    static_cast<std::vector<std::string>*>(all)->emplace_back(name);
    return 0;  // continue the iteration
  };
  if (H5Literate(handle.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_name, &names) < 0)
    fail_at(group, "is damaged: " + last_error());
  return names;
}

/// Checks the size of the chunks, because HDF5 allocates a whole chunk however few of its bytes are stored.
void Reader::check_chunks(const std::string& name, const Handle& dataset, const Handle& properties) const {
  if (H5Pget_layout(properties.id()) != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = H5Pget_chunk(properties.id(), static_cast<int>(chunk.size()), chunk.data());
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (rank < 0 || !type.valid()) fail_at(name, "is damaged: " + last_error());
  check_room(name, std::vector<std::uint64_t>(chunk.begin(), chunk.begin() + rank), H5Tget_size(type.id()));
}

Handle Reader::open_dataset(const std::string& name) const {
  if (!exists(name)) fail_at(name, "is missing");
  Handle dataset(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail_at(name, "cannot be opened as a data set: " + last_error());
  const Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose);
  if (!properties.valid()) fail_at(name, "is damaged: " + last_error());
  if (H5Pget_external_count(properties.id()) != 0 || H5Pget_layout(properties.id()) == H5D_VIRTUAL) {
    fail_at(name, "keeps its values in another file, which is not read");
  }
  check_chunks(name, dataset, properties);
  return dataset;
}

Shape Reader::shape_of(const std::string& name) const {
  const Handle dataset = open_dataset(name);
  const Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.id()) : -1;
  if (rank < 0) fail_at(name, "is damaged: " + last_error());
  if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) fail_at(name, "is empty");
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  if (H5Sget_simple_extent_dims(space.id(), dims.data(), nullptr) < 0) fail_at(name, "is damaged: " + last_error());
  if (rank > Shape::max_rank) fail_at(name, fmt::format("has {} axes, at most {} can be", rank, Shape::max_rank));
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] > std::numeric_limits<std::int64_t>::max()) fail_at(name, "has a size that 64 bits do not hold");
    shape.push_back(static_cast<std::int64_t>(dims[axis]));
  }
  return shape;
}

void Reader::read(const std::string& name, std::span<float> values) const {
  const Handle dataset = open_dataset(name);
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (!type.valid()) fail_at(name, "is damaged: " + last_error());
  dtype_of(dataset, name);  // throws for other types
  const Handle space(H5Dget_space(dataset.id()), H5Sclose);
  require<BrokenInvariant>(H5Sget_simple_extent_npoints(space.id()) == static_cast<hssize_t>(values.size()),
                           "{}: {:?} is read into memory for {} values", path_, name, values.size());
  if (H5Dread(dataset.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    fail_at(name, "cannot be read: " + last_error());
  }
}

std::int64_t Reader::read_integer(const std::string& name) const {
  const Handle dataset = open_dataset(name);
  if (shape_of(name).elements() != 1 || dtype_of(dataset, name) == DType::f32) fail_at(name, "is not one integer");
  std::int64_t value = 0;
  if (H5Dread(dataset.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0)
    fail_at(name, "cannot be read: " + last_error());
  return value;
}

DType Reader::dtype_of(const Handle& dataset, const std::string& name) const {
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (!type.valid()) fail_at(name, "is damaged: " + last_error());
  const std::size_t bytes = H5Tget_size(type.id());
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind == H5T_FLOAT && (bytes == 2 || bytes == 4 || bytes == 8)) return DType::f32;
  if (kind != H5T_INTEGER) fail_at(name, "holds neither integers nor floating-point numbers of 16, 32 or 64 bits");
  const bool is_signed = H5Tget_sign(type.id()) == H5T_SGN_2;
  if (bytes == 1 && !is_signed) return DType::u8;
  return bytes < 4 || (bytes == 4 && is_signed) ? DType::i32 : DType::i64;
}

Tensor Reader::read_rows(const std::string& name, std::int64_t begin, std::int64_t end) const {
  Shape shape = shape_of(name);
  require<BrokenInvariant>(shape.rank() >= 1 && begin >= 0 && begin <= end && end <= shape[0],
                           "{}: rows {} to {} of {:?}, which has {}", path_, begin, end, name, shape);
  shape[0] = end - begin;
  const Handle dataset = open_dataset(name);
  const DType dtype = dtype_of(dataset, name);
  std::vector<std::uint64_t> sizes(shape.begin(), shape.end());
  check_room(name, sizes, size_of(dtype));
  Tensor rows = Tensor::empty(shape, dtype);
  if (rows.elements() == 0) return rows;
  std::array<hsize_t, Shape::max_rank> first{static_cast<hsize_t>(begin)};
  std::array<hsize_t, Shape::max_rank> count{};
  std::copy(shape.begin(), shape.end(), count.begin());
  const Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const Handle memory(H5Screate_simple(shape.rank(), count.data(), nullptr), H5Sclose);
  const hid_t type = dtype == DType::f32   ? H5T_NATIVE_FLOAT
                     : dtype == DType::u8  ? H5T_NATIVE_UINT8
                     : dtype == DType::i32 ? H5T_NATIVE_INT32
                                           : H5T_NATIVE_INT64;
  const bool read =
      space.valid() && memory.valid() &&
      H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) >= 0 &&
      H5Dread(dataset.id(), type, memory.id(), space.id(), H5P_DEFAULT, rows.raw_data()) >= 0;
  if (!read) fail_at(name, "cannot be read: " + last_error());
  return rows;
}

bool Reader::has_whole_attribute(const std::string& group, const std::string& name) const {
  const Handle handle = open_group(group);
  return handle.valid() && H5Aexists(handle.id(), name.c_str()) > 0;
}

bool Reader::has_attribute(const std::string& group, const std::string& name) const {
  return has_whole_attribute(group, name) || has_whole_attribute(group, part_of_attribute(name, 0));
}

std::vector<std::string> Reader::attribute(const std::string& group, const std::string& name) const {
  if (!has_attribute(group, name)) fail_at(group, fmt::format("has no attribute {:?}", name));
  if (has_whole_attribute(group, name)) return whole_attribute(group, name);
  std::vector<std::string> all;
  for (std::size_t part = 0; has_whole_attribute(group, part_of_attribute(name, part)); ++part)
    std::ranges::move(whole_attribute(group, part_of_attribute(name, part)), std::back_inserter(all));
  return all;
}

std::vector<std::string> Reader::whole_attribute(const std::string& group, const std::string& name) const {
  const Handle attribute(H5Aopen_by_name(file_.id(), group.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const Handle type(attribute.valid() ? H5Aget_type(attribute.id()) : -1, H5Tclose);
  const Handle space(attribute.valid() ? H5Aget_space(attribute.id()) : -1, H5Sclose);
  if (!type.valid() || !space.valid()) fail_at(group, "is damaged: " + last_error());
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  if (count == 0) return {};  // h5py stores an empty list as numbers
  if (count < 0 || H5Tget_class(type.id()) != H5T_STRING) fail_at(group, fmt::format("has no text in {:?}", name));
  const auto elements = static_cast<std::size_t>(count);
  check_room(group, std::array<std::uint64_t, 1>{elements}, H5Tget_size(type.id()));
  std::vector<std::string> texts;
  if (H5Tis_variable_str(type.id()) > 0) {
    std::vector<char*> pointers(elements, nullptr);
    if (H5Aread(attribute.id(), type.id(), pointers.data()) < 0) fail_at(group, "cannot be read: " + last_error());
    for (const char* text : pointers) texts.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, pointers.data());
  } else {
    const std::size_t size = H5Tget_size(type.id());
    std::vector<char> all(elements * size);
    if (H5Aread(attribute.id(), type.id(), all.data()) < 0) fail_at(group, "cannot be read: " + last_error());
    for (std::size_t i = 0; i < elements; ++i) texts.emplace_back(&all[i * size], ::strnlen(&all[i * size], size));
  }
  return texts;
}

Writer::Writer(std::size_t bytes) {
  constexpr std::size_t headers = 1 << 16;
  const Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file properties");
  check(H5Pset_fapl_core(access.id(), bytes + headers, 0), "set file properties");
  file_ =
      checked(H5Fcreate("weights in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose, "a file in memory");
}

void Writer::add_group(const std::string& name) {
  checked(H5Gcreate2(file_.id(), name.c_str(), make_parents().id(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose, "a group");
}

void Writer::add_attribute(const std::string& group, const std::string& name, const std::string& text) {
  const char* const value = text.c_str();
  add_text(group, name, std::span(&value, 1), checked(H5Screate(H5S_SCALAR), H5Sclose, "a scalar"));
}

void Writer::add_attribute(const std::string& group, const std::string& name, const std::vector<std::string>& texts) {
  constexpr std::size_t most_in_one = 4000;  // 16 bytes for the location of each text; an attribute has up to 64 KiB
  std::vector<const char*> values;
  for (const std::string& text : texts) values.push_back(text.c_str());
  const auto add = [&](const std::string& attribute, std::span<const char* const> part) {
    const hsize_t count = part.size();
    add_text(group, attribute, part, checked(H5Screate_simple(1, &count, nullptr), H5Sclose, "a data space"));
  };
  if (values.size() <= most_in_one) return add(name, values);
  std::span<const char* const> left = values;
  for (std::size_t part = 0; !left.empty(); ++part) {
    const std::size_t count = std::min(left.size(), most_in_one);
    add(part_of_attribute(name, part), left.first(count));
    left = left.subspan(count);
  }
}

void Writer::add_text(const std::string& group, const std::string& name, std::span<const char* const> texts,
                      const Handle& space) {
  const Handle type = checked(H5Tcopy(H5T_C_S1), H5Tclose, "a text type");
  check(H5Tset_size(type.id(), H5T_VARIABLE), "set a text type");
  check(H5Tset_cset(type.id(), H5T_CSET_UTF8), "set a text type");
  const Handle attribute = checked(H5Acreate_by_name(file_.id(), group.c_str(), name.c_str(), type.id(), space.id(),
                                                     H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                                   H5Aclose, "an attribute");
  if (!texts.empty()) check(H5Awrite(attribute.id(), type.id(), texts.data()), "write an attribute");
}

void Writer::add_dataset(const std::string& name, std::span<const float> values, const Shape& shape) {
  add_values(name, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values.data());
}

void Writer::add_integer(const std::string& name, std::int64_t value) {
  add_values(name, {}, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void Writer::add_values(const std::string& name, const Shape& shape, std::int64_t file_type, std::int64_t memory_type,
                        const void* values) {
  std::array<hsize_t, Shape::max_rank> dims{};
  std::copy(shape.begin(), shape.end(), dims.begin());
  const Handle space = checked(H5Screate_simple(shape.rank(), dims.data(), nullptr), H5Sclose, "a data space");
  const Handle properties = checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "data set properties");
  // Without times, equal weights give equal files.
  check(H5Pset_obj_track_times(properties.id(), false), "set data set properties");
  const Handle dataset = checked(
      H5Dcreate2(file_.id(), name.c_str(), file_type, space.id(), make_parents().id(), properties.id(), H5P_DEFAULT),
      H5Dclose, "a data set");
  check(H5Dwrite(dataset.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "store a data set");
}

std::vector<std::byte> Writer::image() const {
  check(H5Fflush(file_.id(), H5F_SCOPE_LOCAL), "flush a file in memory");
  const ssize_t size = H5Fget_file_image(file_.id(), nullptr, 0);
  require<BrokenInvariant>(size >= 0, "HDF5 cannot measure a file in memory: {}", last_error());
  std::vector<std::byte> image(static_cast<std::size_t>(size));
  require<BrokenInvariant>(H5Fget_file_image(file_.id(), image.data(), image.size()) == size,
                           "HDF5 cannot give a file in memory: {}", last_error());
  return image;
}

void Writer::write_to(const std::string& path) { write_file_atomically(path, image()); }

}  // namespace lockstep::hdf5
