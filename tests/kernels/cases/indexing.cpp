#include <kernels/cases/op_case.h>

#include <lockstep/kernels/indexing/embedding.h>

namespace lockstep::test {
namespace {

OpCase embedding_case(std::int64_t rows, std::int64_t width, std::int64_t count) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(i * i % rows);
  return {.name = fmt::format("embedding_lookup of {} in ({}, {})", count, rows, width),
          .inputs = {random_tensor({rows, width}, 1)},
          .run = [=, in_table = Tensor::from(ids, {count})](In in) { return embedding_lookup(in[0], in_table); },
          .reference =
              [=](const Values& in) {
                std::vector<double> y;
                for (const std::int64_t id : ids)
                  for (std::int64_t c = 0; c < width; ++c) y.push_back(in[0][static_cast<std::size_t>(id * width + c)]);
                return y;
              },
          .check = {.length = count + 1},
          .data = 0,
          .takes_no_rows = false,
          .bf16 = Bf16::none,
          .is_large = rows * width > 10'000};
}

}  // namespace

std::vector<OpCase> indexing_cases() {
  return {embedding_case(1, 1, 1), embedding_case(7, 3, 20), embedding_case(5, 4, 0), embedding_case(1000, 33, 2000),
          embedding_case(13, 8192, 9)};
}

}  // namespace lockstep::test
