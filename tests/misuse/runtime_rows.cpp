#include "rows.h"

namespace lockstep::test {
namespace {

Dataset ten() { return Dataset::from_tensors(zeros({10, 2}), zeros({10}, DType::i64)); }

Rows moved_from_tensor_rows() {
  return {
      misuse<LogicError>("Tensor::device", "moved from", {"undefined"}, [] { (void)moved_from_tensor().device(); }),
      misuse<LogicError>("Tensor::data", "moved from", {"undefined"}, [] { moved_from_tensor().data<float>(); }),
      misuse<LogicError>("Tensor::span", "moved from", {"undefined"}, [] { moved_from_tensor().span<float>(); }),
      misuse<LogicError>("Tensor::to_vector", "moved from", {"undefined"},
                         [] { moved_from_tensor().to_vector<float>(); }),
      misuse<LogicError>("Tensor::on_host", "moved from", {"undefined"}, [] { (void)moved_from_tensor().on_host(); }),
      misuse<InvalidArgument>("copy", "from a tensor that was moved from", {"copy"},
                              [] { copy(moved_from_tensor(), zeros({2})); }),
  };
}

}  // namespace

Rows tensor_rows() {
  const Rows rows{
      misuse<InvalidArgument>("Tensor::from", "fewer values than the shape has", {"3 values", "(2, 2)"},
                              [] {
                                Tensor::from(std::vector<float>(3), {2, 2});
                              }),
      misuse<InvalidArgument>("Tensor::empty", "a negative size", {"(2, -1)"},
                              [] {
                                Tensor::empty({2, -1});
                              }),
      misuse<InvalidArgument>("Tensor::empty", "more bytes than can be counted", {"63"},
                              [] {
                                Tensor::empty({std::int64_t{1} << 31, std::int64_t{1} << 31});
                              }),
      misuse<InvalidArgument>("Shape", "nine dimensions", {"got 9"}, [] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }),
      misuse<InvalidArgument>("Tensor::span", "another dtype", {"f32 (2)"}, [] { zeros({2}).span<std::int64_t>(); }),
      misuse<InvalidArgument>("Tensor::span", "a strided view", {"span()", "f32 (2, 2)"},
                              [] {
                                zeros({2, 3}).slice_view(1, 0, 2).span<float>();
                              }),
      misuse<InvalidArgument>("Tensor::item", "several elements", {"one element"}, [] { zeros({2}).item<float>(); }),
      misuse<InvalidArgument>("Tensor::dim", "an axis that is not there", {"axis 2"},
                              [] {
                                (void)zeros({2, 2}).dim(2);
                              }),
      misuse<InvalidArgument>("Tensor::view", "another number of elements", {"view", "f32 (2)", "(3)"},
                              [] { (void)zeros({2}).view({3}); }),
      misuse<InvalidArgument>("Tensor::slice_view", "past the end", {"[1, 3)", "axis 0"},
                              [] { (void)zeros({2}).slice_view(0, 1, 3); }),
      misuse<InvalidArgument>("copy", "another shape", {"copy", "f32 (2)", "f32 (3)"},
                              [] { copy(zeros({2}), zeros({3})); }),
  };
  return joined({rows, moved_from_tensor_rows()});
}

Rows data_rows() {
  return {
      misuse<InvalidArgument>("Dataset::from_tensors", "an undefined x", {"defined x"},
                              [] { Dataset::from_tensors(Tensor()); }),
      misuse<InvalidArgument>("Dataset::from_tensors", "a number", {"f32 ()"},
                              [] { Dataset::from_tensors(zeros({})); }),
      misuse<InvalidArgument>("Dataset::from_tensors", "more targets than inputs", {"f32 (2, 1)", "f32 (3)"},
                              [] {
                                Dataset::from_tensors(zeros({2, 1}), zeros({3}));
                              }),
      misuse<InvalidArgument>("Dataset::from_tensors", "fewer sample weights than examples", {"f32 (1)"},
                              [] {
                                Dataset::from_tensors(zeros({2, 1}), zeros({2}), zeros({1}));
                              }),
      misuse<InvalidArgument>("Dataset::from_rows", "no function", {"from_rows()"},
                              [] { Dataset::from_rows(nullptr, 1); }),
      misuse<InvalidArgument>("Dataset::from_rows", "fewer rows than were asked for", {"from_rows", "f32 (1)"},
                              [] {
                                const auto one = [](std::int64_t, std::int64_t) { return Batch{{zeros({1})}}; };
                                Dataset::from_rows(one, 2).batch(2).epoch().next();
                              }),
      misuse<InvalidArgument>("Dataset::from_rows", "fewer targets than inputs", {"from_rows", "f32 (1)"},
                              [] {
                                const auto unequal = [](std::int64_t, std::int64_t) {
                                  return Batch{{zeros({2})}, {zeros({1})}};
                                };
                                Dataset::from_rows(unequal, 2).batch(2).epoch().next();
                              }),
      misuse<InvalidArgument>("Dataset::from_generator", "no function", {"function"},
                              [] { Dataset::from_generator(nullptr); }),
      misuse<InvalidArgument>("Dataset::epoch", "a generator that is null", {"pass 0"},
                              [] {
                                const Dataset data =
                                    Dataset::from_generator([](std::uint64_t) { return DatasetIterator(); });
                                data.epoch().next();
                              }),
      misuse<InvalidArgument>("Dataset::map", "no function", {"map()"},
                              [] { ten().map(std::function<Example(const Example&)>()); }),
      misuse<InvalidArgument>("RowTransform", "no function", {"RowTransform"}, [] { RowTransform(nullptr); }),
      misuse<InvalidArgument>("Dataset::rows_of_batches", "no function", {"rows_of_batches()"},
                              [] { (void)ten().batch(2).rows_of_batches(nullptr); }),
      misuse<InvalidArgument>("Dataset::rows_of_batches", "a window that exceeds the batch",
                              {"rows_of_batches()", "[1, 3)"},
                              [] {
                                const auto window = [](std::int64_t rows) { return RowRange{1, rows + 1}; };
                                (void)ten().batch(2).rows_of_batches(window)->epoch().next();
                              }),
      misuse<InvalidArgument>("Dataset::rows_of_batches", "an empty window", {"rows_of_batches()", "[1, 1)"},
                              [] {
                                const auto window = [](std::int64_t) { return RowRange{1, 1}; };
                                (void)ten().batch(2).rows_of_batches(window)->epoch().next();
                              }),
      misuse<InvalidArgument>("Dataset::batch", "no rows", {"batch", "got 0"}, [] { ten().batch(0); }),
      misuse<InvalidArgument>("Dataset::batch", "examples of unequal shape", {"shape"},
                              [] {
                                const auto ragged = [](const Example& e, const ElementId& id) {
                                  return e.with_x(zeros({id.number + 1}));
                                };
                                ten().map(ragged).batch(2).epoch().next();
                              }),
      misuse<InvalidArgument>("Dataset::shuffle", "an empty buffer", {"got 0"}, [] { ten().shuffle({.buffer = 0}); }),
      misuse<InvalidArgument>("Dataset::shuffle", "a whole set without end", {"shuffle"},
                              [] { ten().repeat().shuffle(); }),
      misuse<InvalidArgument>("Dataset::repeat", "a negative count", {"got -1"}, [] { ten().repeat(-1); }),
      misuse<InvalidArgument>("Dataset::take", "a negative count", {"take()", "got -1"}, [] { ten().take(-1); }),
      misuse<InvalidArgument>("Dataset::filter", "no function", {"filter()"}, [] { ten().filter(nullptr); }),
      misuse<InvalidArgument>("Dataset::zip", "no data sets", {"zip()"}, [] { Dataset::zip({}); }),
      misuse<InvalidArgument>("Dataset::sample_from_datasets", "too few weights", {"2", "got 1"},
                              [] {
                                Dataset::sample_from_datasets({ten(), ten()}, {.weights = {1}});
                              }),
      misuse<InvalidArgument>("RandomTransform", "one function", {"RandomTransform", "two functions"},
                              [] { RandomTransform([](const Example& e, const ElementId&) { return e; }, nullptr); }),
      misuse<InvalidArgument>("Dataset::cache", "a file without a name", {"cache()", "name of a file"},
                              [] { ten().cache(""); }),
      misuse<InvalidArgument>("Dataset::cache", "a set without end", {"cache()"}, [] { ten().repeat().cache(); }),
      misuse<InvalidArgument>("Dataset::unbatch", "examples without rows", {"unbatch, element 0"},
                              [] {
                                const auto x_alone = [](const Example& e) { return e.with_x(zeros({})); };
                                ten().batch(2).map(x_alone).unbatch().epoch().next();
                              }),
      misuse<InvalidArgument>("Dataset::flat_map", "no function", {"flat_map()"}, [] { ten().flat_map(nullptr); }),
      misuse<InvalidArgument>("Dataset::interleave", "no cycle", {"interleave()", "0"},
                              [] { ten().interleave([](const Example&) { return ten(); }, 0); }),
      misuse<InvalidArgument>("Dataset::padded_batch", "an example larger than the padded shape", {"padded_batch", "2"},
                              [] { ten().padded_batch(2, {.inputs = {{.shape = {1}}}}).epoch().next(); }),
      misuse<InvalidArgument>("Dataset::window", "no stride", {"window()", "0"},
                              [] { ten().window(2, {.stride = 0}); }),
      misuse<InvalidArgument>("Dataset::prefetch", "nothing", {"prefetch()", "got 0"}, [] { ten().prefetch(0); }),
      misuse<LogicError>("Dataset::batch", "moved from", {"no value"},
                         [] {
                           Dataset data = ten();
                           const Dataset other = std::move(data);
                           data.batch(2);  // NOLINT
                         }),
      misuse<LogicError>("Dataset::epoch", "moved from", {"no value"},
                         [] {
                           Dataset data = ten();
                           const Dataset other = std::move(data);
                           data.epoch();  // NOLINT
                         }),
  };
}

}  // namespace lockstep::test
