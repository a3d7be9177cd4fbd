#include "hdf5_edits.h"

#include <algorithm>
#include <array>

#include <hdf5.h>

#include <lockstep/models/files/hdf5_file.h>

namespace lockstep::fuzz {
namespace {

using hdf5::Handle;

constexpr std::array<const char*, 8> attribute_names{
    "weight_names",    "weight_names0", "layer_names",  "name",
    "training_config", "model_config",  "layer_names0", "exclude_from_weight_decay"};
constexpr std::array<hsize_t, 10> sizes{0, 1, 2, 3, 4, 8, 100, 1U << 16, hsize_t{1} << 40, hsize_t{1} << 62};

Handle open(std::span<const std::byte> image) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.id(), 1 << 16, 0);
  H5Pset_file_image(access.id(), const_cast<std::byte*>(image.data()), image.size());
  return {H5Fopen("/dev/null/in memory", H5F_ACC_RDWR, access.id()), H5Fclose};
}

/// Calls functions of HDF5; each may fail, which is ignored.
class Editor {
 public:
  Editor(const Hdf5Base& base, FuzzedDataProvider& input) : base_(base), input_(input), file_(open(base.image)) {}

  void change() {
    switch (input_.ConsumeIntegralInRange(0, 4)) {
      case 0:
        H5Ldelete(file_.id(), some_name().c_str(), H5P_DEFAULT);
        break;
      case 1:
        add_dataset();
        break;
      case 2:
        add_attribute();
        break;
      case 3:
        add_link();
        break;
      default:
        H5Adelete_by_name(file_.id(), some_name().c_str(), input_.PickValueInArray(attribute_names), H5P_DEFAULT);
    }
  }

  std::vector<std::byte> image() const {
    H5Fflush(file_.id(), H5F_SCOPE_LOCAL);
    std::vector<std::byte> image(
        static_cast<std::size_t>(std::max<ssize_t>(0, H5Fget_file_image(file_.id(), nullptr, 0))));
    H5Fget_file_image(file_.id(), image.data(), image.size());
    return image;
  }

 private:
  std::string some_name() {
    const auto known = input_.ConsumeIntegralInRange<std::size_t>(0, base_.names.size());
    return known < base_.names.size() ? base_.names[known] : input_.ConsumeRandomLengthString(20);
  }

  Handle some_space(hsize_t* dims, int& rank) {
    rank = input_.ConsumeIntegralInRange(0, 10);
    for (int axis = 0; axis < rank; ++axis) dims[axis] = input_.PickValueInArray(sizes);
    if (input_.ConsumeProbability<float>() < 0.1F) return {H5Screate(H5S_NULL), H5Sclose};
    return {rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, dims, nullptr), H5Sclose};
  }

  Handle some_type() {
    const std::array<hid_t, 10> numbers{H5T_IEEE_F32LE,     H5T_IEEE_F64BE, H5T_STD_I8LE,  H5T_STD_U8LE,
                                        H5T_STD_I64LE,      H5T_STD_U64BE,  H5T_STD_B16LE, H5T_C_S1,
                                        H5T_NATIVE_LDOUBLE, H5T_STD_REF_OBJ};
    Handle type(H5Tcopy(input_.PickValueInArray(numbers)), H5Tclose);
    if (H5Tget_class(type.id()) == H5T_STRING)
      H5Tset_size(type.id(), input_.ConsumeBool() ? H5T_VARIABLE : input_.PickValueInArray(sizes));
    return type;
  }

  /// A name that is free, because an object with it is deleted.
  std::string free_name() {
    std::string name = some_name();
    H5Ldelete(file_.id(), name.c_str(), H5P_DEFAULT);
    return name;
  }

  void add_dataset() {
    const std::string name = free_name();
    std::array<hsize_t, 10> dims{};
    int rank = 0;
    const Handle space = some_space(dims.data(), rank);
    const Handle type = some_type();
    const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.id(), 1);
    H5Pset_layout(properties.id(), input_.PickValueInArray({H5D_CONTIGUOUS, H5D_CHUNKED}));
    if (rank > 0 && input_.ConsumeBool()) {
      for (int axis = 0; axis < rank; ++axis) dims[axis] = input_.PickValueInArray(sizes);
      H5Pset_chunk(properties.id(), rank, dims.data());
      if (input_.ConsumeBool()) H5Pset_deflate(properties.id(), 1);
    }
    if (input_.ConsumeProbability<float>() < 0.1F) H5Pset_external(properties.id(), "/etc/passwd", 0, H5F_UNLIMITED);
    const Handle made(
        H5Dcreate2(file_.id(), name.c_str(), type.id(), space.id(), links.id(), properties.id(), H5P_DEFAULT),
        H5Dclose);
  }

  void add_attribute() {
    const std::string object = some_name();
    const char* const name = input_.PickValueInArray(attribute_names);
    H5Adelete_by_name(file_.id(), object.c_str(), name, H5P_DEFAULT);
    std::array<hsize_t, 10> dims{};
    int rank = 0;
    Handle space = some_space(dims.data(), rank);
    Handle type = some_type();
    const std::string text = input_.ConsumeRandomLengthString(60);
    const bool one_text = input_.ConsumeBool();
    if (one_text) {
      space = Handle(H5Screate(H5S_SCALAR), H5Sclose);
      type = Handle(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(type.id(), std::max<std::size_t>(1, text.size()));
    }
    const Handle attribute(H5Acreate_by_name(file_.id(), object.c_str(), name, type.id(), space.id(), H5P_DEFAULT,
                                             H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    if (one_text) H5Awrite(attribute.id(), type.id(), text.c_str());
  }

  void add_link() {
    const std::string name = free_name();
    const std::string to = some_name();
    switch (input_.ConsumeIntegralInRange(0, 2)) {
      case 0:
        H5Lcreate_soft(to.c_str(), file_.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        break;
      case 1:
        H5Lcreate_external("/etc/passwd", to.c_str(), file_.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        break;
      default:
        H5Lcreate_hard(file_.id(), to.c_str(), file_.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
  }

  const Hdf5Base& base_;
  FuzzedDataProvider& input_;
  Handle file_;
};

}  // namespace

Hdf5Base::Hdf5Base(std::vector<std::byte> file) : image(std::move(file)) {
  const hdf5::LibraryLock turn;
  const auto add = [](hid_t, const char* name, const H5O_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  H5Ovisit(open(image).id(), H5_INDEX_NAME, H5_ITER_INC, add, &names);
}

std::vector<std::byte> edit(const Hdf5Base& base, FuzzedDataProvider& input) {
  const hdf5::LibraryLock turn;
  Editor editor(base, input);
  constexpr int most_changes = 20;
  for (int i = 0; i < most_changes && input.remaining_bytes() > 0; ++i) editor.change();
  return editor.image();
}

}  // namespace lockstep::fuzz
