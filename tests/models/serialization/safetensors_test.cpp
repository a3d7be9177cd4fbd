#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

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
  EXPECT_EQ(load_failure(network, file_text(kernel("F16", "[3,2]", 12), 12)),
            file_ + ": weight \"dense/kernel\" is F16; F32, BF16, I32, I64, U8 and BOOL can be read");
  EXPECT_EQ(load_failure(network, file_text(kernel("F32", "[3,2]", 24), 20)),
            file_ + ": weight \"dense/kernel\" lies outside the file");
  EXPECT_EQ(load_failure(network, file_text(kernel("F32", "[3,2]", 20), 20)),
            file_ + ": weight \"dense/kernel\" is of shape (3, 2), which 20 bytes do not hold");
  EXPECT_EQ(load_failure(network, file_text(kernel("F32", "[2,3]", 24), 24)),
            file_ + ": weight 'dense/kernel' is f32 (3, 2), the file has f32 (2, 3)");
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

}  // namespace
}  // namespace lockstep
