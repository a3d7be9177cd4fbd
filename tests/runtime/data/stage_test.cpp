#include <algorithm>
#include <map>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/stage.h>
#include <lockstep/runtime/thread/parallel.h>

// Each stage's cursor must give the same elements one by one, in batches, and after skipping.

namespace lockstep {
namespace {

using detail::Cursor;
using detail::StagePtr;

std::vector<float> values_of(const Example& example) { return example.x().to_vector<float>(); }

Example counted(std::int64_t begin, std::int64_t end) {
  std::vector<float> x;
  for (std::int64_t i = begin; i < end; ++i) x.push_back(static_cast<float>(i));
  return {{Tensor::from(x, {end - begin})}};
}

StagePtr tensors(std::int64_t n) { return detail::make_tensor_source(counted(0, n)); }

StagePtr generator(std::int64_t n, std::optional<std::int64_t> size) {
  const auto make = [n](std::uint64_t epoch) -> DatasetIterator {
    return [n, epoch, i = std::int64_t{0}]() mutable -> std::optional<Example> {
      if (i == n) return std::nullopt;
      return Example{{Tensor::scalar(static_cast<float>(100 * epoch) + static_cast<float>(i++))}};
    };
  };
  return detail::make_generator(make, size);
}

/// Rows of a megabyte, so that a pass reads several blocks.
StagePtr large_rows(std::int64_t n) {
  const auto read = [](std::int64_t begin, std::int64_t end) {
    const Tensor x = Tensor::zeros({end - begin, 1 << 18});
    for (std::int64_t row = begin; row < end; ++row)
      x.data<float>()[(row - begin) * (1 << 18)] = static_cast<float>(row);
    return Batch{{x}};
  };
  const auto first = [](const Example& e, const ElementId&) {
    return Example{{Tensor::scalar(e.x().data<float>()[0])}};
  };
  return detail::make_map(detail::make_row_source(read, n), first);
}

/// Values that encode epoch and number.
StagePtr placed(StagePtr input) {
  const auto transform = [](const Example& e, const ElementId& id) {
    const auto place = static_cast<float>(1000 * id.epoch) + static_cast<float>(id.number);
    return Example{{Tensor::from(std::vector{e.x().item<float>(), place}, {2})}};
  };
  return detail::make_map(std::move(input), transform);
}

/// Examples whose x is `n` times its own number.
StagePtr repeated_numbers(const Example& element) {
  const float number = element.x().item<float>();
  return detail::make_tensor_source({{Tensor::full({static_cast<std::int64_t>(number) % 4}, number)}});
}

bool begins_with_even(const Example& element) {
  return static_cast<std::int64_t>(element.x().to_vector<float>()[0]) % 2 == 0;
}

/// Elements of a reader, which are shuffled.
StagePtr shuffled(std::int64_t n, std::uint64_t seed = 3) {
  return tensors(n)->shuffled({.seed = seed, .fixed_parts = true});
}

struct StageCase {
  std::string name;
  StagePtr stage;
};

void PrintTo(const StageCase& of, std::ostream* out) { *out << of.name; }

std::vector<StageCase> all_stages() {
  using namespace detail;
  return {
      {"tensors", tensors(40)},
      {"shuffledTensors", tensors(40)->shuffled({.seed = 3})},
      {"fixedPart", shuffled(40)->fixed_part(9, 20)},
      {"fixedPartOfNothing", shuffled(0)->fixed_part(0, 20)},
      {"rows", make_row_source(counted, 40)},
      {"largeRows", large_rows(40)},
      {"generator", generator(40, 40)},
      {"generatorWithoutSize", generator(40, std::nullopt)},
      {"map", placed(tensors(40))},
      {"mapOfMap", placed(make_map(tensors(40), [](const Example& e, const ElementId&) { return e; }))},
      {"shuffle", make_shuffle(generator(40, 40), {.seed = 2, .buffer = 7})},
      {"shuffleOfMap", make_shuffle(placed(tensors(40)), {.seed = 2})},
      {"batch", make_batch(tensors(40), 4, false)},
      {"batchThatDropsOfKnownSize", make_batch(placed(tensors(40)), 3, true)},
      {"batchOfMap", make_batch(placed(tensors(40)), 4, false)},
      {"batchThatDrops", make_batch(generator(40, std::nullopt), 3, true)},
      {"batchOfRows", make_batch(make_row_source(counted, 40), 3, true)},
      {"repeat", make_repeat(tensors(11)->shuffled({.seed = 1}), 4)},
      {"repeatOfMap", make_repeat(placed(tensors(11)), 4)},
      {"repeatOfGenerator", make_repeat(generator(11, std::nullopt), 4)},
      {"endless", make_take(make_repeat(tensors(7), std::nullopt), 40)},
      {"repeatOfNothing", make_repeat(tensors(0), std::nullopt)},
      {"take", make_take(placed(tensors(40)), 23)},
      {"takeOfTooFew", make_take(generator(40, std::nullopt), 50)},
      {"skip", make_skip(placed(tensors(40)), 5)},
      {"skipOfAll", make_skip(generator(40, 40), 50)},
      {"prefetch", make_prefetch(placed(tensors(40)), 3)},
      {"filter", make_filter(placed(tensors(80)), begins_with_even)},
      {"filterOfNothing", make_filter(tensors(0), begins_with_even)},
      {"cache", make_cache(placed(tensors(40)))},
      {"cacheOfUnknownSize", make_cache(make_filter(tensors(80), begins_with_even))},
      {"unbatch", make_unbatch(make_batch(tensors(40), 7, false))},
      {"unbatchOfTransformed",
       make_unbatch(make_map(make_batch(tensors(40), 7, false), [](const Example& e, const ElementId&) { return e; }))},
      {"unbatchOfRepeated", make_unbatch(make_repeat(make_batch(tensors(11), 4, false), 4))},
      {"flatMap", make_interleave(tensors(20), repeated_numbers, {"flat_map", 1, Extent::endless})},
      {"interleave", make_interleave(tensors(20), repeated_numbers, {"interleave", 3, 2})},
      {"interleaveOfFew", make_interleave(tensors(4), repeated_numbers, {"interleave", 100, 1})},
      {"window", make_window(tensors(40), 5, 2, {.drop_remainder = true})},
      {"windowWithStride", make_window(placed(tensors(40)), 3, 1, {.stride = 4, .drop_remainder = true})},
      {"windowWithGaps", make_window(tensors(80), 2, 3, {.drop_remainder = true})},
      {"windowOfUnknownSize", make_window(generator(40, std::nullopt), 6, 1, {.drop_remainder = true})},
      {"windowOfTooFew", make_window(tensors(4), 5, 1, {.drop_remainder = true})},
      {"windowOfWhatIsLeft", make_window(tensors(40), 1, 3, {.stride = 4})},
      {"padding", make_padding(tensors(40), {})},
      {"zip", make_zip({tensors(40), make_skip(placed(tensors(60)), 3)})},
      {"zipOfUnequal", make_zip({tensors(40), generator(23, std::nullopt), tensors(30)})},
      {"concatenate", make_concatenate(tensors(17), generator(20, 20))},
      {"concatenateOfUnknownSize", make_concatenate(generator(17, std::nullopt), tensors(20))},
      {"sample", make_sample({tensors(17), make_skip(tensors(40), 20)}, {.weights = {1, 3}, .seed = 4})},
      {"fixedPartOfUnbatch", make_unbatch(make_batch(shuffled(40), 4, false))->fixed_part(4, 32)},
      {"fixedPartOfWindows", make_window(shuffled(80), 2, 3, {})->fixed_part(3, 20)},
      {"fixedPartOfConcatenate", make_concatenate(shuffled(17), generator(30, std::nullopt))->fixed_part(5, 30)},
      {"sampleUntilOneIsEmpty", make_sample({tensors(17), tensors(40)}, {.stop_on_empty_dataset = true})},
  };
}

constexpr std::uint64_t epoch = 2;

std::vector<std::vector<float>> elements_of(const StagePtr& stage) {
  std::vector<std::vector<float>> elements;
  const auto cursor = stage->open(epoch);
  while (const std::optional<Example> element = cursor->next()) elements.push_back(values_of(*element));
  return elements;
}

/// A pass with all kinds of steps, each compared with the elements one by one.
class Walk {
 public:
  Walk(const StagePtr& stage, const std::vector<std::vector<float>>& elements)
      : cursor_(stage->open(epoch)), elements_(elements) {}

  void next() {
    const std::optional<Example> element = cursor_->next();
    ASSERT_EQ(element.has_value(), left() > 0);
    if (element) expect_next(*element, 1);
  }
  void next_batch(std::int64_t rows) {
    const std::int64_t there = std::min(rows, left());
    const std::optional<Batch> batch = cursor_->next_batch(rows);
    ASSERT_EQ(batch.has_value(), there > 0);
    if (!batch) return;
    ASSERT_EQ(batch->size(), there);
    expect_next(*batch, there);
  }
  void skip(std::int64_t count) {
    const std::int64_t there = std::min(count, left());
    ASSERT_EQ(cursor_->skip(count), there);
    at_ += static_cast<std::size_t>(there);
  }

 private:
  std::int64_t left() const { return static_cast<std::int64_t>(elements_.size() - at_); }
  void expect_next(const Example& found, std::int64_t count) {
    std::vector<float> expected;
    for (; count > 0; --count, ++at_) expected.insert(expected.end(), elements_[at_].begin(), elements_[at_].end());
    ASSERT_EQ(values_of(found), expected);
  }

  std::unique_ptr<Cursor> cursor_;
  const std::vector<std::vector<float>>& elements_;
  std::size_t at_ = 0;
};

class EachStage : public testing::TestWithParam<StageCase> {
 protected:
  const StagePtr stage_ = GetParam().stage;
  const ComputeThreadsScope threads_{4};  // threads of maps that work ahead
};

TEST_P(EachStage, LeavesTheSameAfterSkippingAndAfterBatches) {
  const std::vector<std::vector<float>> elements = elements_of(stage_);
  for (unsigned seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 draws(seed);
    Walk walk(stage_, elements);
    for (int i = 0; i < 12; ++i) {
      const unsigned kind = draws() % 3;
      const std::int64_t count = 1 + draws() % 8;
      if (kind == 0) walk.skip(count - 1);
      if (kind == 1) walk.next_batch(count);
      if (kind == 2) walk.next();
    }
  }
}

TEST_P(EachStage, HasAsManyElementsAsItsExtentSays) {
  const auto count = static_cast<std::int64_t>(elements_of(stage_).size());
  const detail::Extent extent = stage_->extent();
  EXPECT_LE(count, extent.most);
  EXPECT_TRUE(!extent.exact || count == extent.most);
}

std::string name_of_stage(const testing::TestParamInfo<StageCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Data, EachStage, testing::ValuesIn(all_stages()), name_of_stage);

/// All numbers of the elements of a pass.
std::vector<float> numbers_of(const StagePtr& stage, std::uint64_t number) {
  std::vector<float> numbers;
  const auto cursor = stage->open(number);
  while (const std::optional<Example> element = cursor->next())
    for (const Tensor& tensor : element->inputs)
      for (const float value : tensor.to_vector<float>()) numbers.push_back(value);
  return numbers;
}

/// Stages after shuffles with fixed_parts, which have each number of 0 to 47 once.
std::vector<StageCase> stages_with_fixed_parts() {
  using namespace detail;
  const auto plus = [](const StagePtr& numbers, float more) {
    return make_map(numbers, [more](const Example& e, const ElementId&) {
      return e.with_x(Tensor::full({}, e.x().item<float>() + more));
    });
  };
  const StagePtr batches = make_batch(shuffled(48), 4, false);
  const StagePtr others = plus(shuffled(31, 4), 17);
  return {
      {"shuffle", shuffled(48)},
      {"map", plus(shuffled(48), 0)},
      {"prefetch", make_prefetch(shuffled(48), 3)},
      {"batch", batches},
      {"unevenBatch", make_batch(shuffled(48), 5, false)},
      {"windowOfBatch", batches->rows_of_batches([](std::int64_t rows) {
         return RowRange{0, rows};
       })},
      {"padding", make_padding(shuffled(48), {})},
      {"paddedBatch", make_batch(make_padding(shuffled(48), {}), 5, false)},
      {"secondShuffle", make_shuffle(shuffled(48), {.seed = 5, .buffer = 9})},
      {"shuffleOfBatches", make_shuffle(batches, {.seed = 5})},
      {"window", make_window(shuffled(48), 3, 3, {})},
      {"unevenWindow", make_window(shuffled(48), 5, 5, {})},
      {"zip", make_zip({shuffled(24), plus(shuffled(24, 4), 24)})},
      {"zipWithPlain", make_zip({tensors(24), plus(shuffled(24), 24)})},
      {"concatenate", make_concatenate(shuffled(17), others)},
      {"concatenateToPlain", make_concatenate(tensors(17), others)},
      {"concatenateOfBatches", make_concatenate(make_batch(shuffled(17), 4, false), make_batch(others, 4, false))},
  };
}

class EachStageWithFixedParts : public testing::TestWithParam<StageCase> {
 protected:
  const StagePtr stage_ = GetParam().stage;
};

TEST_P(EachStageWithFixedParts, IsSplitWithoutLeaks) {
  const std::int64_t size = stage_->size().value();
  for (std::int64_t first = 0; first <= size + 1; ++first) {
    SCOPED_TRACE(first);
    const StagePtr taken = detail::part_of(stage_, 0, first);
    const StagePtr rest = detail::part_of(stage_, first, detail::Extent::endless);
    EXPECT_EQ(taken->size(), std::min(first, size));
    EXPECT_EQ(rest->size(), std::max<std::int64_t>(size - first, 0));
    std::vector<float> all = numbers_of(taken, 0);
    EXPECT_THAT(numbers_of(taken, 1), testing::UnorderedElementsAreArray(all)) << "a fixed part";
    for (const float number : numbers_of(rest, 1)) all.push_back(number);
    std::ranges::sort(all);
    EXPECT_EQ(all, values_of(counted(0, 48)));
  }
  EXPECT_NE(numbers_of(detail::part_of(stage_, 0, size), 0), numbers_of(detail::part_of(stage_, 0, size), 1));
}

TEST_P(EachStageWithFixedParts, IsSplitInThree) {
  const std::int64_t size = stage_->size().value();
  std::vector<float> all;
  for (const StagePtr& part : {detail::part_of(stage_, 0, 2), detail::part_of(detail::part_of(stage_, 2, size), 0, 3),
                               detail::part_of(stage_, 5, size)})
    for (const float number : numbers_of(part, static_cast<std::uint64_t>(all.size()))) all.push_back(number);
  std::ranges::sort(all);
  EXPECT_EQ(all, values_of(counted(0, 48)));
}

INSTANTIATE_TEST_SUITE_P(Data, EachStageWithFixedParts, testing::ValuesIn(stages_with_fixed_parts()), name_of_stage);

TEST(FixedParts, OfUnbatchAreRowsOfWholeBatches) {
  using namespace detail;
  const StagePtr rows = make_unbatch(make_batch(shuffled(48), 5, false));
  for (const std::int64_t first : {0, 5, 45, 48, 60}) {
    std::vector<float> all = numbers_of(part_of(rows, 0, first), 0);
    EXPECT_EQ(static_cast<std::int64_t>(all.size()), std::min<std::int64_t>(first, 48));
    for (const float number : numbers_of(part_of(rows, first, Extent::endless), 1)) all.push_back(number);
    std::ranges::sort(all);
    EXPECT_EQ(all, values_of(counted(0, 48)));
  }
  for (const std::int64_t first : {1, 47})
    EXPECT_THAT([&] { (void)part_of(rows, 0, first); },
                testing::ThrowsMessage<InvalidArgument>(
                    "take() and skip() after unbatch(), unless of the rows of whole batches, would select other "
                    "examples in each epoch, because the examples are shuffled: call them before unbatch()"));
  const auto same = [](const Example& e, const ElementId&) { return e; };
  const StagePtr unknown = make_unbatch(make_map(make_batch(shuffled(48), 5, false), same));
  EXPECT_THROW((void)part_of(unknown, 5, 5), InvalidArgument);
  EXPECT_EQ(numbers_of(part_of(unknown, 0, Extent::endless), 0).size(), 48U);
}

TEST(FixedParts, OfRowsOfBatchesHaveOnlyTheseRows) {
  const auto first = [](std::int64_t) { return RowRange{0, 1}; };
  const StagePtr rows = detail::make_batch(shuffled(48), 4, false)->rows_of_batches(first);
  EXPECT_EQ(numbers_of(detail::part_of(rows, 0, 5), 0).size(), 5U);
  EXPECT_EQ(numbers_of(detail::part_of(rows, 5, detail::Extent::endless), 0).size(), 7U);
}

TEST(FixedParts, AreRefusedWhereTheyWouldLeak) {
  using namespace detail;
  const Interleaving in_turn{"interleave", 3, 2};
  const Interleaving flat{"flat_map", 1, Extent::endless};
  const auto stages = [&](const StagePtr& input) {
    return std::map<std::string, StagePtr>{
        {"filter", make_filter(input, begins_with_even)},
        {"interleave", make_interleave(input, repeated_numbers, in_turn)},
        {"flat_map", make_interleave(input, repeated_numbers, flat)},
        {"sample_from_datasets", make_sample({tensors(9), input}, {})},
        {"window", make_window(input, 3, 2, {})},
        {"concatenate", make_concatenate(generator(5, std::nullopt), input)},
    };
  };
  for (const auto& [name, stage] : stages(make_map(shuffled(20), [](const Example&e, const ElementId&) { return e; })))
    for (const std::int64_t first : {0, 4})
      EXPECT_THAT([&] { (void)part_of(stage, first, 4); },
                  testing::ThrowsMessage<InvalidArgument>(
                      testing::AllOf(testing::HasSubstr("take() and skip() after " + name),
                                     testing::HasSubstr("would select other examples in each epoch"),
                                     testing::HasSubstr("call them before " + name + "()"))));
  for (const StagePtr& input : {tensors(20), tensors(20)->shuffled({.seed = 3}), make_cache(shuffled(20)),
                                make_repeat(shuffled(20), 2), make_take(shuffled(20), 9), make_skip(shuffled(20), 2)})
    for (const auto& [name, stage] : stages(input)) EXPECT_EQ(part_of(stage, 0, 1)->extent().most, 1) << name;
}

TEST(StageWithFixedParts, MayBeOneOfMany) {
  StagePtr all = shuffled(4);
  for (int i = 1; i < 64; ++i) all = detail::make_concatenate(detail::make_zip({all}), shuffled(4));
  EXPECT_EQ(part_of(all, 250, 10)->size(), 6);
}

TEST(StageOfBatches, CountsTheLastPartialOneAmongThoseSkipped) {
  EXPECT_EQ(detail::make_batch(tensors(23), 7, false)->open(0)->skip(9), 4);
  EXPECT_EQ(detail::make_batch(tensors(23), 7, true)->open(0)->skip(9), 3);
  EXPECT_EQ(detail::make_batch(tensors(23), 1L << 40, false)->open(0)->skip(1L << 40), 1);
}

TEST(StageOfAMap, SkipsWhatItHasNotTransformed) {
  const auto fails = [](const Example& e, const ElementId& id) {
    require<InputError>(id.number != 5, "not this one");
    return e;
  };
  const StagePtr stage = detail::make_map(tensors(9), fails);
  EXPECT_EQ(stage->open(0)->skip(9), 9) << "what is skipped is not transformed";
  const auto begun = stage->open(0);
  const ComputeThreadsScope eight(8);
  (void)begun->next();  // also transforms the failing element
  EXPECT_THROW(begun->skip(8), InputError);
  EXPECT_THROW(detail::make_prefetch(stage, 1)->open(0)->skip(9), InputError);
}

TEST(StageExtent, TellsWhatIsKnownBeforehand) {
  const auto extent_of = [](const StagePtr& stage) { return stage->extent(); };
  EXPECT_FALSE(extent_of(generator(4, std::nullopt)).exact);
  EXPECT_FALSE(extent_of(detail::make_take(generator(4, std::nullopt), 9)).exact);
  EXPECT_EQ(extent_of(detail::make_take(generator(4, std::nullopt), 9)).most, 9);
  EXPECT_EQ(extent_of(detail::make_take(generator(4, std::nullopt), 9)).size(), std::nullopt);
  EXPECT_TRUE(extent_of(detail::make_take(generator(4, std::nullopt), 0)).exact);
  const StagePtr two = detail::make_take(generator(4, std::nullopt), 2);
  EXPECT_TRUE(extent_of(detail::make_skip(two, 2)).exact);
  EXPECT_TRUE(extent_of(detail::make_batch(two, 3, true)).exact);
  EXPECT_TRUE(extent_of(detail::make_window(two, 3, 3, {.drop_remainder = true})).exact);
  const detail::Extent endless = extent_of(detail::make_repeat(tensors(4), std::nullopt));
  EXPECT_TRUE(endless.exact);
  EXPECT_EQ(endless.size(), std::nullopt);
  EXPECT_EQ(extent_of(detail::make_repeat(tensors(0), std::nullopt)).size(), 0);
}

}  // namespace
}  // namespace lockstep
