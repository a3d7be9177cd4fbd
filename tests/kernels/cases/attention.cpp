#include <algorithm>
#include <cmath>

#include <kernels/cases/op_case.h>

#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/attention/attention_math.h>

namespace lockstep::test {
namespace {

const RandomKey key{.seed = 5, .stream = 1, .replica = 2, .step = 9};

/// What a mask of the shape of all scores has, and the shape of which the op gets it.
enum class Mask { none, padding, of_heads, of_all, nothing_seen };

struct AttentionSizes {
  std::int64_t batch, queries, keys, heads, key_heads, size, value_size;
  bool is_causal = false;
  Mask mask = Mask::none;
  float dropout_rate = 0;

  bool is_masked(std::int64_t example, std::int64_t head, std::int64_t query, std::int64_t key_number) const {
    switch (mask) {
      case Mask::none:
        return false;
      case Mask::padding:
        return key_number >= keys - example;
      case Mask::of_heads:
        return (query + key_number * 2 + head) % 3 == 0;
      case Mask::of_all:
        return (query * 3 + key_number + head + example) % 4 == 0;
      case Mask::nothing_seen:
        return query % 2 == 1;
    }
    return false;
  }

  Tensor mask_tensor() const {
    const bool by_example = mask == Mask::padding || mask == Mask::of_all;
    const bool by_head = mask == Mask::of_heads || mask == Mask::of_all;
    const bool by_query = mask != Mask::padding;
    const bool by_key = mask != Mask::nothing_seen;
    const Shape shape{by_example ? batch : 1, by_head ? heads : 1, by_query ? queries : 1, by_key ? keys : 1};
    std::vector<std::uint8_t> seen;
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t h = 0; h < shape[1]; ++h)
        for (std::int64_t q = 0; q < shape[2]; ++q)
          for (std::int64_t k = 0; k < shape[3]; ++k) seen.push_back(is_masked(b, h, q, k) ? 0 : 1);
    return mask == Mask::none ? Tensor() : Tensor::from(seen, shape);
  }
};

/// Attention of one query as loops, in double precision.
class PlainRow {
 public:
  PlainRow(const AttentionSizes& sizes, const Values& in, std::int64_t example, std::int64_t query, std::int64_t head)
      : s_(sizes), in_(in), example_(example), query_(query), head_(head) {}

  void append_to(std::vector<double>& y) const {
    const std::vector<double> weights = all_weights();
    for (std::int64_t c = 0; c < s_.value_size; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < s_.keys; ++k)
        sum += weights[static_cast<std::size_t>(k)] * in_[2][place(k, c, s_.value_size)];
      y.push_back(sum);
    }
  }

 private:
  /// Place of a key's or value's element.
  std::size_t place(std::int64_t k, std::int64_t c, std::int64_t size) const {
    const std::int64_t shared_head = head_ / (s_.heads / s_.key_heads);
    return static_cast<std::size_t>(((example_ * s_.keys + k) * s_.key_heads + shared_head) * size + c);
  }

  double score(std::int64_t k) const {
    double product = 0;
    for (std::int64_t c = 0; c < s_.size; ++c)
      product += in_[0][static_cast<std::size_t>(((example_ * s_.queries + query_) * s_.heads + head_) * s_.size + c)] *
                 in_[1][place(k, c, s_.size)];
    const auto at = static_cast<std::size_t>((head_ * s_.queries + query_) * s_.keys + k);
    return product / std::sqrt(static_cast<double>(s_.size)) + (in_.size() > 3 ? in_[3][at] : 0);
  }

  std::vector<double> all_weights() const {
    const auto hides = [&](std::int64_t k) {
      return (s_.is_causal && k > query_) || s_.is_masked(example_, head_, query_, k);
    };
    std::int64_t seen = 0;
    for (std::int64_t k = 0; k < s_.keys; ++k) seen += hides(k) ? 0 : 1;
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t k = 0; k < s_.keys; ++k) {
      weights.push_back(seen == 0 ? 1 : hides(k) ? 0 : std::exp(score(k)));
      sum += weights.back();
    }
    const RandomSequence sequence(key);
    const std::int64_t row = (example_ * s_.heads + head_) * s_.queries + query_;
    for (std::int64_t k = 0; k < s_.keys; ++k) {
      const auto block = static_cast<std::uint64_t>(row * ((s_.keys + 3) / 4) + k / 4);
      const bool dropped = sequence.block(block).word[k % 4] / 4294967296.0 < static_cast<double>(s_.dropout_rate);
      weights[static_cast<std::size_t>(k)] *= dropped ? 0 : 1 / sum / (1 - static_cast<double>(s_.dropout_rate));
    }
    return weights;
  }

  const AttentionSizes& s_;
  const Values& in_;
  std::int64_t example_, query_, head_;
};

std::vector<double> plain_attention(const AttentionSizes& sizes, const Values& in) {
  std::vector<double> y;
  const std::int64_t row = sizes.queries * sizes.heads * sizes.size;
  const std::int64_t batch = static_cast<std::int64_t>(in[0].size()) / row;
  for (std::int64_t example = 0; example < batch; ++example)
    for (std::int64_t query = 0; query < sizes.queries; ++query)
      for (std::int64_t head = 0; head < sizes.heads; ++head) PlainRow(sizes, in, example, query, head).append_to(y);
  return y;
}

AttentionOptions options_of(const AttentionSizes& s) {
  AttentionOptions options{.is_causal = s.is_causal, .mask = s.mask_tensor(), .dropout_rate = s.dropout_rate};
  if (s.dropout_rate > 0) options.next_key = [] { return key; };
  return options;
}

OpCase attention_case(const AttentionSizes& s, const std::string& what) {
  const Shape query{s.batch, s.queries, s.heads, s.size};
  const Shape keys{s.batch, s.keys, s.key_heads, s.size};
  const Shape values{s.batch, s.keys, s.key_heads, s.value_size};
  return {
      .name = fmt::format("dot_product_attention of {} and {} {}", query, keys, what),
      .inputs = {random_tensor(query, 1), random_tensor(keys, 2), random_tensor(values, 3)},
      .run = [options = options_of(s)](In in) { return dot_product_attention(in[0], in[1], in[2], options); },
      .reference = [=](const Values& in) { return plain_attention(s, in); },
      .check = {.length = std::max(s.keys, s.queries * s.heads / s.key_heads) + s.size + s.value_size, .samples = 8},
      .data = 3,
      .takes_no_rows = s.mask != Mask::padding && s.mask != Mask::of_all,
      .nan_spreads = s.mask == Mask::none && s.dropout_rate == 0,
      .no_second_gradient = "one kernel computes all gradients"};
}

/// With a bias of the shape (heads, queries, keys). With dropout, the number of keys must be a multiple of 4, so that
/// the dropout of the weights draws the numbers of the kernel without a bias.
OpCase biased_case(const AttentionSizes& s, const std::string& what) {
  OpCase c = attention_case(s, what);
  c.inputs.push_back(random_tensor({s.heads, s.queries, s.keys}, 4));
  c.run = [options = options_of(s)](In in) {
    AttentionOptions with_bias = options;
    with_bias.bias = in[3];
    return dot_product_attention(in[0], in[1], in[2], with_bias);
  };
  c.optional = 1;
  c.bf16 = Bf16::data;
  c.same_bits_on_any_threads = false;  // products of matrices
  c.no_second_gradient = "";
  return c;
}

}  // namespace

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> cases{
      attention_case({2, 3, 5, 2, 2, 4, 3}, "plain"),
      attention_case({1, 1, 1, 1, 1, 1, 1}, "of one key"),
      attention_case({2, 5, 7, 6, 2, 3, 5}, "in groups"),
      attention_case({2, 6, 6, 2, 2, 5, 5, true}, "causal"),
      attention_case({2, 3, 6, 4, 2, 17, 18, true}, "causal with more keys"),
      attention_case({3, 4, 6, 2, 1, 4, 4, false, Mask::padding}, "with padding"),
      attention_case({2, 4, 6, 3, 3, 4, 4, false, Mask::of_heads}, "with a mask of heads"),
      attention_case({2, 6, 5, 2, 2, 4, 4, true, Mask::of_all}, "causal with a mask"),
      attention_case({2, 4, 5, 2, 1, 4, 4, true, Mask::nothing_seen}, "with queries that see nothing"),
      attention_case({2, 3, 6, 4, 2, 4, 4, false, Mask::none, 0.4F}, "with dropout")};
  cases.push_back(biased_case({2, 3, 5, 2, 2, 4, 3}, "with a bias"));
  cases.push_back(biased_case({2, 3, 4, 4, 2, 3, 2, false, Mask::none, 0.4F}, "with a bias and dropout"));
  cases.push_back(biased_case({2, 3, 4, 4, 2, 3, 2, true, Mask::of_heads}, "causal with a bias and a mask"));
  cases.push_back(biased_case({2, 4, 3, 2, 1, 3, 2, false, Mask::nothing_seen}, "with a bias and queries unseen"));
  // Several blocks of queries and keys, with and without a rest.
  cases.push_back(large(attention_case({2, 128, 192, 2, 1, 16, 32}, "in blocks"), 2));
  cases.push_back(large(attention_case({1, 150, 150, 2, 2, 24, 40, true}, "in causal blocks"), 2));
  cases.push_back(large(attention_case({1, 70, 150, 2, 2, 8, 8, true, Mask::nothing_seen}, "in blocks unseen"), 2));
  cases.push_back(
      large(attention_case({2, 77, 131, 2, 2, 20, 12, true, Mask::of_all, 0.3F}, "in blocks with all options"), 2));
  return cases;
}

}  // namespace lockstep::test
