#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/data/tfrecord.h>
#include <lockstep/runtime/core/record.h>

#include "data_files.h"
#include "image_files.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A field of a protocol buffer with its length.
std::string field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  std::size_t length = content.size();
  for (; length >= 0x80; length >>= 7) bytes += static_cast<char>((length & 0x7f) | 0x80);
  return bytes + static_cast<char>(length) + content;
}

/// Features of a tf.train.Example; `list` is 1 for bytes, 2 for numbers, 3 for integers.
std::string feature(const std::string& name, int list, const std::string& content) {
  return field(1, field(1, name) + field(2, field(list, field(1, content))));
}
std::string example(const std::string& features) { return field(1, features); }

std::string x_feature(float first) {
  const float values[] = {first, 0.5F};
  return feature("x", 2, std::string(reinterpret_cast<const char*>(values), sizeof(values)));
}
/// x = (number, 0.5), y = number.
std::string numbered(int number) {
  return example(x_feature(static_cast<float>(number)) + feature("y", 3, std::string(1, static_cast<char>(number))));
}

struct TfRecord : testing::Test {
  std::filesystem::path write(const std::string& name, const std::vector<std::string>& records) const {
    std::ostringstream bytes;
    for (const std::string& record : records) write_record(bytes, record);
    test::write_text(folder / name, bytes.str());
    return folder / name;
  }
  std::filesystem::path change(const std::filesystem::path& file, std::size_t at) const {
    std::string bytes = test::contents_of(file);
    bytes.at(at) ^= 1;
    test::write_text(file, bytes);
    return file;
  }
  static std::vector<float> firsts(const Dataset& set, std::uint64_t epoch = 0) {
    std::vector<float> values;
    for (const Example& each : set.epoch(epoch)) values.push_back(each.x().data<float>()[0]);
    return values;
  }
  void expect_refused(const std::filesystem::path& file, const std::string& complaint) const {
    EXPECT_THAT([&] { (void)firsts(tfrecord_dataset({file}, options)); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(file.string() + ": " + complaint), Not(HasSubstr("\n")))));
  }

  test::TemporaryFolder folder;
  TfRecordOptions options{.inputs = {{"x", FeatureType::numbers, {2}}}, .targets = {{"y", FeatureType::integers}}};
};

TEST_F(TfRecord, ReadsExamplesOfSeveralFiles) {
  const Dataset set =
      tfrecord_dataset({write("a", {numbered(1), numbered(2)}), write("b", {}), write("c", {numbered(3)})}, options);
  EXPECT_EQ(set.size(), 3);
  EXPECT_THAT(firsts(set), ElementsAre(1, 2, 3));
  const Batch batch = set.batch(3).epoch().next().value();
  EXPECT_EQ(batch.x().shape(), (Shape{3, 2}));
  EXPECT_EQ(batch.x().dtype(), DType::f32);
  EXPECT_EQ(batch.y().dtype(), DType::i64);
  EXPECT_THAT(batch.y().to_vector<int>(), ElementsAre(1, 2, 3));
}

/// The checksum of TensorFlow's own test of "123456789" (RFC 3720 has the unmasked one, 0xe3069283).
TEST_F(TfRecord, HasTensorFlowsChecksums) {
  const std::string text = "123456789";
  EXPECT_EQ(masked_crc(text), ((0xe3069283U >> 15) | (0xe3069283U << 17)) + 0xa282ead8U);
}

TEST_F(TfRecord, ReadsBytesAndImages) {
  test::write_png(folder / "image.png", {.width = 2, .height = 1, .bytes = {1, 2, 3, 4, 5, 6}});
  const std::string record =
      example(feature("raw", 1, "ab") + feature("image", 1, test::contents_of(folder / "image.png")));
  options = {.inputs = {{"image", FeatureType::image, {3}}, {"raw", FeatureType::bytes, {2, 1}}}};
  const Example read = tfrecord_dataset({write("a", {record})}, options).epoch().next().value();
  EXPECT_EQ(read.inputs.at(0).shape(), (Shape{1, 2, 3}));
  EXPECT_THAT(read.inputs.at(0).to_vector<int>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(read.inputs.at(1).shape(), (Shape{2, 1}));
  options.inputs.at(0).shape = {1, 2, 3};
  EXPECT_EQ(tfrecord_dataset({folder / "a"}, options).epoch().next().value().x().shape(), (Shape{1, 2, 3}));
  for (const Shape& other : {Shape{2, 1, 3}, Shape{224, 224, 3}}) {
    options.inputs.at(0).shape = other;
    expect_refused(folder / "a", fmt::format("record 0: feature \"image\": is an image (1, 2, 3), not {}", other));
  }
  EXPECT_THAT(read.inputs.at(1).to_vector<int>(), ElementsAre('a', 'b'));
  EXPECT_FALSE(read.y().defined());
}

TEST_F(TfRecord, TransformsExamples) {
  options.transform = [](const Example& read) {
    require<InputError>(read.y().item<std::int64_t>() != 2, "must not be 2");
    return read.with_x(Tensor::full({1}, 10.0 * read.x().data<float>()[0]));
  };
  EXPECT_THAT(firsts(tfrecord_dataset({write("a", {numbered(1), numbered(3)})}, options)), ElementsAre(10, 30));
  expect_refused(write("a", {numbered(1), numbered(2)}), "record 1: must not be 2");
  options.transform = [](const Example& read) {
    if (read.y().item<std::int64_t>() == 2) throw std::runtime_error("is bad");
    return read;
  };
  for (const bool shuffle : {false, true}) {
    options.shuffle = shuffle;
    expect_refused(write("a", {numbered(1), numbered(3), numbered(2)}), "record 2: is bad");
  }
}

TEST_F(TfRecord, ReadsCompressedFiles) {
  const auto packed = [&](const std::string& name, const std::vector<std::string>& records) {
    const std::string bytes = test::contents_of(write(name, records));
    test::write_text(folder / name, test::gzip(bytes));
    return folder / name;
  };
  const std::vector<std::filesystem::path> files{packed("a.gz", {numbered(1), numbered(2)}), write("b", {numbered(3)}),
                                                 packed("c.gz", {})};
  const Dataset set = tfrecord_dataset(files, options);
  EXPECT_THAT(firsts(set), ElementsAre(1, 2, 3));
  EXPECT_THAT(firsts(set.skip(1)), ElementsAre(2, 3));
  EXPECT_EQ(tfrecord_features(files).size(), 2U);
  const std::string whole = test::contents_of(write("d", {numbered(1), numbered(2)}));
  for (const std::size_t missing : {1, 40}) {
    test::write_text(folder / "d", test::gzip(whole.substr(0, whole.size() - missing)));
    expect_refused(folder / "d", "record 1: the file ends within it");
  }
  test::write_text(folder / "d", test::gzip("anything"));
  expect_refused(folder / "d", "record 0: the file ends within it");
  test::write_text(folder / "d", test::gzip(whole).substr(0, 30));
  expect_refused(folder / "d", "the compressed data are");
}

TEST_F(TfRecord, ShufflesAndSplitsRecordsOfAllFiles) {
  options.shuffle = true;
  const Dataset set = tfrecord_dataset(
      {write("a", {numbered(1), numbered(2), numbered(3)}), write("b", {numbered(4), numbered(5)})}, options);
  EXPECT_NE(firsts(set, 0), firsts(set, 1));
  std::vector<float> all = firsts(set.take(2), 0);
  const std::vector<float> kept = all;
  EXPECT_THAT(firsts(set.take(2), 1), testing::UnorderedElementsAreArray(kept));
  for (const float value : firsts(set.skip(2), 1)) all.push_back(value);
  EXPECT_THAT(all, testing::UnorderedElementsAre(1, 2, 3, 4, 5));
}

TEST_F(TfRecord, ReadsOnlyTheRecordsThatAreWanted) {
  const std::filesystem::path file = write("a", {numbered(1), numbered(2), numbered(3), numbered(4)});
  const std::size_t record_bytes = std::filesystem::file_size(file) / 4;
  change(file, record_bytes + 20);
  const Dataset batches = tfrecord_dataset({file}, options).batch(2);
  EXPECT_THAT(firsts(batches.rows_of_batches([](std::int64_t) { return RowRange{0, 1}; }).value()), ElementsAre(1, 3));
  EXPECT_THROW((void)batches.epoch().next(), InputError);
}

TEST_F(TfRecord, NamesTheRecordThatIsDamaged) {
  const std::vector<std::string> records{numbered(1), numbered(2)};
  const std::size_t record_bytes = numbered(1).size() + 16;
  expect_refused(change(write("a", records), record_bytes), "record 1: its length has a wrong checksum");
  expect_refused(change(write("a", records), record_bytes + 9), "record 1: its length has a wrong checksum");
  expect_refused(change(write("a", records), record_bytes + 12), "record 1: its data have a wrong checksum");
  expect_refused(change(write("a", records), 2 * record_bytes - 1), "record 1: its data have a wrong checksum");
  for (const std::size_t bytes : {record_bytes + 5, record_bytes + 13, 2 * record_bytes - 1}) {
    const std::filesystem::path file = write("a", records);
    std::filesystem::resize_file(file, bytes);
    expect_refused(file, "record 1: the file ends within it");
  }
  expect_refused(folder / "none", "there is no such file");
  expect_refused(folder.path(), "this is not a regular file");
}

TEST_F(TfRecord, NamesTheFeatureThatDoesNotSuit) {
  const auto expect = [&](const std::string& record, const std::string& complaint) {
    expect_refused(write("a", {numbered(1), record}), "record 1: " + complaint);
  };
  const std::string y = feature("y", 3, "\x05");
  expect("\x0a\xff", "is not a tf.train.Example");
  expect("", "has no feature \"x\"");
  expect(example(x_feature(1)), "has no feature \"y\"");
  expect(example(feature("x", 3, "\x05") + y), "feature \"x\": has no number(s)");
  expect(example(feature("x", 2, std::string(4, '\0')) + y), "feature \"x\": has 1 number(s), (2) needs 2");
  expect(example(x_feature(1) + feature("y", 3, "\x05\x06")), "feature \"y\": has 2 integer(s), () needs 1");
  options.targets = {{"y", FeatureType::image, {3}}};
  expect_refused(write("a", {numbered(1)}), "record 0: feature \"y\": does not have one element of bytes");
  expect_refused(write("a", {example(x_feature(1) + feature("y", 1, "text"))}),
                 "record 0: feature \"y\": no JPEG, PNG or BMP image");
}

TEST_F(TfRecord, DescribesTheFeaturesOfTheFirstRecord) {
  test::write_png(folder / "image.png", {.width = 2, .height = 1, .bytes = {1, 2, 3, 4, 5, 6}});
  const std::string record =
      example(x_feature(1) + feature("label", 3, std::string("\x05\x06\x07")) + feature("raw", 1, "ab") +
              feature("image", 1, test::contents_of(folder / "image.png")) + feature("none", 2, "") +
              field(1, field(1, "two") + field(2, field(1, field(1, "a") + field(1, "b")))));
  const auto features = tfrecord_features({write("a", {}), write("b", {record, numbered(1)})});
  std::vector<std::string> names;
  for (const RecordFeature& each : features) names.push_back(each.name);
  ASSERT_THAT(names, ElementsAre("image", "label", "raw", "x"));
  EXPECT_EQ(features[0].type, FeatureType::image);
  EXPECT_EQ(features[1].type, FeatureType::integers);
  EXPECT_EQ(features[1].shape, Shape{3});
  EXPECT_EQ(features[2].type, FeatureType::bytes);
  EXPECT_EQ(features[2].shape, Shape{2});
  EXPECT_EQ(features[3].type, FeatureType::numbers);
  EXPECT_EQ(features[3].shape, Shape{2});
  EXPECT_THAT([&] { (void)tfrecord_features({folder / "a"}); },
              ThrowsMessage<InputError>((folder / "a") + ": there are no records"));
  EXPECT_THAT([&] { (void)tfrecord_features({write("c", {"\x0a\xff"})}); },
              ThrowsMessage<InputError>(HasSubstr("c: record 0: is not a tf.train.Example")));
}

TEST_F(TfRecord, ChecksItsOptions) {
  EXPECT_THAT([] { (void)tfrecord_dataset({}, {}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("a feature for the inputs")));
  for (const Shape& shape : {Shape{4}, Shape{}, Shape{2, 3}, Shape{2, 2, 4}, Shape{1, 2, 2, 3}})
    EXPECT_THAT(
        [&] {
          (void)tfrecord_dataset({}, {.inputs = {{"x", FeatureType::image, shape}}});
        },
        ThrowsMessage<InvalidArgument>(HasSubstr(fmt::format("with 1 or 3 channels, got {}", shape))));
}

}  // namespace
}  // namespace lockstep
