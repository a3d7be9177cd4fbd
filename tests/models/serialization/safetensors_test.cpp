#include <limits>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/models/files/safetensors_file.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/serialization/file_formats.h>

namespace lockstep {
namespace {

Network dense_network(std::uint64_t seed = 0, std::int64_t units = 2) {
  const Symbol x = Input({3});
  return {x, BatchNormalization({.name = "norm"})(Dense({.units = units, .name = "dense"})(x)), seed};
}

std::string file_text(const std::string& header, std::size_t data_bytes) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  return length + header + std::string(data_bytes, '\0');
}

class Safetensors : public testing::Test {
 protected:
  std::string load_failure(const Network& network, const std::string& text) const {
    test::write_text(file_, text);
    const std::vector<float> before = network.variables().front().value().to_vector<float>();
    std::string message = test::error_of<InputError>([&] { load_weights(network, file_); });
    EXPECT_EQ(network.variables().front().value().to_vector<float>(), before);
    return message;
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / "model.safetensors";
};

TEST_F(Safetensors, HasTheFormatsLayout) {
  const Symbol x = Input({2});
  const Network network(x, Dense({.units = 1, .use_bias = false, .name = "d"})(x), 0);
  network.variables()[0].assign(Tensor::from(std::vector<float>{1, 2}, {2, 1}));
  save_weights(network, file_);
  const std::string header = R"({"d/kernel":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";
  std::string expected = file_text(header + std::string((8 - header.size() % 8) % 8, ' '), 0);
  const float values[] = {1, 2};
  expected.append(reinterpret_cast<const char*>(values), sizeof values);
  EXPECT_EQ(test::contents_of(file_), expected);
}

TEST_F(Safetensors, NamesWhatDoesNotFit) {
  const Network network = dense_network();
  EXPECT_ERROR(InputError, file_ + ": there is no such file", load_weights(network, file_));
  EXPECT_EQ(load_failure(network, "text"), file_ + ": not a safetensors file, or the file is truncated");
  EXPECT_THAT(load_failure(network, file_text("[1]", 0)), testing::HasSubstr("the header is not in safetensors' form"));
  EXPECT_EQ(load_failure(network, file_text("{}", 0)), file_ + ": has no weight 'dense/kernel'");
  const auto kernel = [](const char* dtype, const char* shape, int end) {
    return fmt::format(R"({{"dense/kernel":{{"dtype":"{}","shape":{},"data_offsets":[0,{}]}}}})", dtype, shape, end);
  };
  EXPECT_EQ(load_failure(network, file_text(kernel("F8_E4M3", "[3,2]", 6), 6)),
            file_ + ": weight \"dense/kernel\" is F8_E4M3; F32, BF16, I32, I64, U8, BOOL, F16, F64 can be read");
  EXPECT_EQ(load_failure(network, file_text(kernel("F32", "[3,2]", 24), 20)),
            file_ + ": weight \"dense/kernel\" lies outside the file");
  EXPECT_EQ(load_failure(network, file_text(kernel("F32", "[3,2]", 20), 20)),
            file_ + ": weight \"dense/kernel\" is of shape (3, 2), which 20 bytes do not hold");
  EXPECT_EQ(load_failure(network, file_text(kernel("F32", "[2,3]", 24), 24)),
            file_ + ": weight 'dense/kernel' is F32 (3, 2), the file has F32 (2, 3)");
  EXPECT_EQ(load_failure(network, file_text(kernel("I64", "[3,2]", 48), 48)),
            file_ + ": weight 'dense/kernel' is F32 (3, 2), the file has I64 (3, 2)");
}

// Sizes and offsets are checked before memory is allocated for them.
TEST_F(Safetensors, RefusesSizesThatCannotBe) {
  const Network network = dense_network();
  const auto refusal = [&](const char* shape, const char* offsets) {
    const std::string entry = fmt::format(R"({{"dtype":"F32","shape":{},"data_offsets":{}}})", shape, offsets);
    return load_failure(network, file_text(fmt::format(R"({{"dense/kernel":{}}})", entry), 24));
  };
  const std::string kernel = file_ + ": weight \"dense/kernel\" ";
  EXPECT_EQ(refusal("[1099511627776]", "[0,24]"), kernel + "is of shape (1099511627776), which 24 bytes do not hold");
  EXPECT_EQ(refusal("[4294967296,4294967296,4]", "[0,16]"),
            kernel + "is of shape (4294967296, 4294967296, 4), which 16 bytes do not hold");
  EXPECT_EQ(refusal("[1,1,1,1,1,1,1,1,6]", "[0,24]"),
            kernel + "is of shape (1, 1, 1, 1, 1, 1, 1, 1, 6), which 24 bytes do not hold");
  EXPECT_EQ(refusal("[4611686018427387904,2,0]", "[0,0]"),
            kernel + "is of shape (4611686018427387904, 2, 0), which 0 bytes do not hold");
  EXPECT_EQ(refusal("[-3,-2]", "[0,24]"), kernel + "has [-3,-2] where whole numbers belong");
  EXPECT_EQ(refusal("[1e300]", "[0,24]"), kernel + "has [1e+300] where whole numbers belong");
  EXPECT_EQ(refusal("[3,2]", "[-24,0]"), kernel + "has [-24,0] where whole numbers belong");
  EXPECT_EQ(refusal("[3,2]", "[0,18446744073709551615]"), kernel + "lies outside the file");
  std::string huge_header = file_text("{}", 0);
  huge_header[5] = 1;  // 2^40 bytes
  EXPECT_EQ(load_failure(network, huge_header), file_ + ": not a safetensors file, or the file is truncated");
}

TEST_F(Safetensors, NamesWeightsThatTheModelLacks) {
  save_weights(dense_network(), file_);
  const Symbol x = Input({3});
  const Network dense(x, Dense({.units = 2, .name = "dense"})(x), 0);
  EXPECT_ERROR(InputError, "has weights that the model lacks, such as \"norm/beta\"", load_weights(dense, file_));
}

/// The only weight "d/kernel", of n elements.
Network kernel_of(std::int64_t n) {
  const Symbol x = Input({n});
  return {x, Dense({.units = 1, .use_bias = false, .name = "d"})(x), 0};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_F(Safetensors, MayHaveOtherRealDTypes) {
  const float infinity = std::numeric_limits<float>::infinity();
  // 1, -2.5, 65504, 2^-14, 2^-24, -0, -inf as IEEE 754 binary16
  const std::vector<std::uint16_t> half{0x3C00, 0xC100, 0x7BFF, 0x0400, 0x0001, 0x8000, 0xFC00};
  const std::vector<float> half_values{1, -2.5, 65504, 0x1p-14F, 0x1p-24F, -0.0F, -infinity};
  const std::vector<float> values{1, -2.5, 3, 0.25, 1024, 0, 7};
  const std::vector<double> wide(values.begin(), values.end());
  const std::vector<bfloat16> narrow(values.begin(), values.end());
  const Network network = kernel_of(7);
  const auto expect_loaded = [&](const char* dtype, const std::string& data, const std::vector<float>& expected) {
    SCOPED_TRACE(dtype);
    const std::string entry =
        fmt::format(R"({{"d/kernel":{{"dtype":"{}","shape":[7,1],"data_offsets":[0,{}]}}}})", dtype, data.size());
    test::write_text(file_, file_text(entry, 0) + data);
    load_weights(network, file_);
    EXPECT_EQ(network.variables()[0].value().to_vector<float>(), expected);
    EXPECT_EQ(cast(SafetensorsFile(file_).read_all().at("d/kernel"), DType::f32).to_vector<float>(), expected);
  };
  expect_loaded("F16", bytes_of(half), half_values);
  expect_loaded("F64", bytes_of(wide), values);
  const std::vector<double> beyond{1e300, -1e300, infinity, 0, 1, 2, 3};
  expect_loaded("F64", bytes_of(beyond), {infinity, -infinity, infinity, 0, 1, 2, 3});
  expect_loaded("BF16", bytes_of(narrow), values);
  const std::string nan = file_text(R"({"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})", 0) + "\1\x7c";
  test::write_text(file_, nan);
  EXPECT_THAT(SafetensorsFile(file_).read_all().at("x").item<float>(), testing::IsNan());
}

TEST_F(Safetensors, HaveNoNamesInLatin1) {
  EXPECT_ERROR(InvalidArgument, "is not UTF-8", safetensors_contents({{"caf\xe9", Tensor::zeros({1})}}));
}

TEST_F(Safetensors, MayNameAndOrderWeightsOtherwise) {
  const Network saved = dense_network(1);
  const std::vector<Variable> from = saved.variables();
  const std::vector<std::string> names = saved.weight_names();
  std::vector<NamedTensor> tensors{{"unused", Tensor::zeros({2}, DType::i64)}};
  for (std::size_t i = 0; i < from.size(); ++i)
    tensors.push_back({"net." + names[i], dense_copy(transpose(from[i].value()))});
  const std::vector<std::byte> contents = safetensors_contents(tensors);
  test::write_text(file_, {reinterpret_cast<const char*>(contents.data()), contents.size()});

  const Network network = dense_network(2);
  LoadWeightsOptions options{.stored_as = [](const std::string& name) -> StoredWeight {
    return {"net." + name, name.ends_with("kernel") ? std::vector{1, 0} : std::vector<int>()};
  }};
  EXPECT_ERROR(InputError, "has weights that the model lacks, such as \"unused\"",
               load_weights(network, file_, options));
  options.ignore_extra = true;
  load_weights(network, file_, options);
  for (std::size_t i = 0; i < from.size(); ++i) test::expect_same_bits(network.variables()[i].value(), from[i].value());

  options.stored_as = [](const std::string& name) { return StoredWeight{"net." + name}; };
  EXPECT_ERROR(InputError, "weight 'dense/kernel' is F32 (3, 2), the file has as \"net.dense/kernel\" F32 (2, 3)",
               load_weights(network, file_, options));
  options.stored_as = [](const std::string& name) { return StoredWeight{"net." + name, {2, 0, 1}}; };
  EXPECT_ERROR(InputError, "F32 (2, 3), to be read in the order (2, 0, 1)", load_weights(network, file_, options));
  EXPECT_ERROR(InvalidArgument, "stored_as is for .safetensors files",
               load_weights(network, folder_ / "a.weights.h5", {.stored_as = options.stored_as}));
}

TEST_F(Safetensors, MayStoreAWeightOfSeveralLayersOnce) {
  const Symbol x = Input({2});
  const Network network(
      x, Dense({.units = 2, .use_bias = false, .name = "b"})(Dense({.units = 2, .use_bias = false, .name = "a"})(x)),
      0);
  const std::vector<std::byte> contents =
      safetensors_contents({{"w", Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2})}});
  test::write_text(file_, {reinterpret_cast<const char*>(contents.data()), contents.size()});
  load_weights(network, file_, {.stored_as = [](const std::string&) { return StoredWeight{"w"}; }});
  for (const Variable& kernel : network.variables())
    EXPECT_EQ(kernel.value().to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

// F8_E4M3 has no DType, and a weight of this dtype is no reason not to read the others.
TEST_F(Safetensors, MayHaveExtraWeightsOfAnyDType) {
  const std::string header = R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},)"
                             R"("d/kernel":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]}})";
  test::write_text(file_, file_text(header, 8));
  const Network network = kernel_of(1);
  load_weights(network, file_, {.ignore_extra = true});
  EXPECT_EQ(network.variables()[0].value().item<float>(), 0);
  EXPECT_ERROR(InputError, "weight \"a\" is F8_E4M3", SafetensorsFile(file_).read_all());
}

}  // namespace
}  // namespace lockstep
