// Attention by blocks of queries and keys, after Dao et al., "FlashAttention" (2022). Queries are the columns of most
// tiles: the softmax then works on whole vectors, and keys and values are read as they are.

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <lockstep/kernels/attention/attention_kernels.h>
#include <lockstep/kernels/attention/attention_math.h>
#include <lockstep/kernels/attention/tiles.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::attention {
namespace {

constexpr std::int64_t block_queries = 64;
constexpr std::int64_t block_keys = 64;
/// Minimum number of products of scores per thread.
constexpr std::int64_t grain = 1 << 17;

/// Numbers of the queries of a block.
using PerQuery = std::array<float, block_queries>;

/// `lanes` neighboring numbers at any address.
struct [[gnu::packed, gnu::may_alias]] LanesInMemory {
  Lanes value;
};

///@{
/// The numbers from `first` on.
const LanesInMemory& lanes_at(const float* first) { return *reinterpret_cast<const LanesInMemory*>(first); }
LanesInMemory& lanes_at(float* first) { return *reinterpret_cast<LanesInMemory*>(first); }
///@}

/// Neighboring queries of a head.
struct Queries {
  std::int64_t example, head, first, count;

  std::int64_t columns() const { return whole_lanes(count); }
};

/// Neighboring keys.
struct Keys {
  std::int64_t first, count;
};

/// Calls body(keys) for the blocks of keys that the queries may see, and, if sees_none() then says that a query has
/// seen no key, for all others: it weighs them, too.
template <class SeesNone, class Body>
void for_each_keys(bool is_causal, const Queries& queries, std::int64_t keys, const SeesNone& sees_none,
                   const Body& body) {
  const std::int64_t seen = is_causal ? std::min(keys, queries.first + queries.count) : keys;
  for (std::int64_t first = 0; first < keys; first += block_keys) {
    if (first >= seen && !sees_none()) return;
    body(Keys{first, std::min(block_keys, keys - first)});
  }
}

bool sees_none(const PerQuery& maximum, std::int64_t count) {
  return std::any_of(maximum.begin(), maximum.begin() + count, [](float m) { return m == hidden_score; });
}

/// Replaces the scores, (keys, queries), of keys after their query.
void hide_later_keys(const Queries& queries, const Keys& keys, Tile& scores) {
  for (std::int64_t i = 0; i < keys.count; ++i) {
    const std::int64_t earlier = std::clamp<std::int64_t>(keys.first + i - queries.first, 0, queries.count);
    std::fill_n(scores.row(i), earlier, hidden_score);
  }
}

void hide_masked_keys(const Tensor& mask, const Queries& queries, const Keys& keys, Tile& scores) {
  const Shape& strides = mask.strides();
  const bool* const first = mask.data<bool>() + queries.example * strides[0] + queries.head * strides[1] +
                            queries.first * strides[2] + keys.first * strides[3];
  for (std::int64_t i = 0; i < keys.count; ++i) {
    const bool* const of_key = first + i * strides[3];
    float* const row = scores.row(i);
    for (std::int64_t l = 0; l < queries.count; ++l) row[l] = of_key[l * strides[2]] ? row[l] : hidden_score;
  }
}

/// Copies of the keys, or of the values, of one head: neighboring blocks of queries share them. In a tensor, the rows
/// of a head are far apart, so that they displace each other in the first-level cache.
template <class T>
class CopiedRows {
 public:
  explicit CopiedRows(const Tensor& x)
      : x_(x), blocks_(static_cast<std::size_t>((x.dim(1) + block_keys - 1) / block_keys)) {}

  const Tile& of(std::int64_t example, std::int64_t head, const Keys& keys) {
    if (example != example_ || head != head_) {
      for (Block& block : blocks_) block.is_copied = false;
      example_ = example;
      head_ = head;
    }
    Block& block = blocks_[static_cast<std::size_t>(keys.first / block_keys)];
    if (!block.tile) block.tile.emplace(block_keys, x_.dim(3));
    if (!block.is_copied) load(Head<const T>(x_, example, head), keys.first, keys.count, 1, *block.tile);
    block.is_copied = true;
    return *block.tile;
  }

 private:
  struct Block {
    std::optional<Tile> tile;
    bool is_copied = false;
  };

  Tensor x_;
  std::vector<Block> blocks_;
  std::int64_t example_ = -1, head_ = -1;
};

/// Scores and random factors of blocks of keys (rows) and queries (columns).
template <class T>
class Scores {
 public:
  Scores(const Tensor& query, const Tensor& key, const kernels::AttentionRule& rule)
      : keys_(key),
        key_size_(key.dim(3)),
        query_heads_per_key_(query.dim(2) / key.dim(2)),
        rule_(rule),
        dropout_(rule.dropout_rate, rule.key, key.dim(1)),
        heads_(query.dim(2)),
        queries_(query.dim(1)),
        scores_(block_keys, block_queries),
        factors_(rule.dropout_rate > 0 ? block_keys : 0, block_queries) {}

  /// The head of keys and values that the queries share with others.
  std::int64_t shared_head(const Queries& queries) const { return queries.head / query_heads_per_key_; }

  /// The scores, for queries that are transposed and scaled.
  Tile& compute(const Tile& transposed_queries, const Queries& queries, const Keys& keys) {
    multiply(factor(this->keys(queries, keys)), transposed_queries, keys.count, key_size_, queries.columns(), false,
             scores_);
    if (rule_.is_causal && keys.first + keys.count - 1 > queries.first) hide_later_keys(queries, keys, scores_);
    if (rule_.mask.defined()) hide_masked_keys(rule_.mask, queries, keys, scores_);
    return scores_;
  }

  const Tile& keys(const Queries& queries, const Keys& keys) {
    return keys_.of(queries.example, shared_head(queries), keys);
  }

  /// The factors of dropout.
  const Tile& draw(const Queries& queries, const Keys& keys) {
    const std::int64_t row = (queries.example * heads_ + queries.head) * queries_ + queries.first;
    for (std::int64_t i = 0; i < keys.count; i += 4) {
      float* const to[] = {factors_.row(i), factors_.row(i + 1), factors_.row(i + 2), factors_.row(i + 3)};
      for (std::int64_t l = 0; l < queries.columns(); ++l) {
        const PhiloxBlock random = dropout_.block(row + l, (keys.first + i) / 4);
        for (int word = 0; word < 4; ++word) to[word][l] = dropout_.rule(1, random.word[word]);
      }
    }
    return factors_;
  }

 private:
  CopiedRows<T> keys_;
  std::int64_t key_size_, query_heads_per_key_;
  kernels::AttentionRule rule_;
  WeightDropout dropout_;
  std::int64_t heads_, queries_;
  Tile scores_, factors_;
};

/// x *= factors, for the first rows and columns.
void scale_rows(const Tile& factors, std::int64_t rows, std::int64_t columns, Tile& x) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t l = 0; l < columns; ++l) x.row(i)[l] *= factors.row(i)[l];
}

/// x = e^x for x <= 0, as exp_f32 computes it, but 0 where the result is not a normal number; NaN stays NaN.
[[gnu::always_inline]] inline void exponentiate(Lanes& x) {
  using Words [[gnu::vector_size(sizeof(Lanes))]] = std::int32_t;
  constexpr float smallest = -87.0F;
  const Lanes power = x * 1.44269504F + 12582912.0F;  // adding 1.5 * 2^23 rounds: the low bits are an integer
  const Lanes n = power - 12582912.0F;
  const Lanes r = n * 2.12194440e-4F + (n * -0.693359375F + x);
  Lanes p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  Words bits;
  std::memcpy(&bits, &power, sizeof bits);
  bits = (bits + 127) << 23;
  Lanes scale;
  std::memcpy(&scale, &bits, sizeof scale);
  x = x < smallest ? Lanes{} : (p * r * r + r + 1.0F) * scale;
}

/// The softmax of blocks of queries over blocks of keys, one after another.
struct RunningSoftmax {
  PerQuery maximum, sum;

  void start() {
    maximum.fill(hidden_score);
    sum.fill(0);
  }

  /// Replaces the scores by their exponentials relative to the new maximum. Returns the factors of earlier ones.
  PerQuery add(Tile& scores, std::int64_t keys, std::int64_t columns) {
    PerQuery factors;
    for (std::int64_t l = 0; l < columns; l += lanes) add(scores, keys, l, &factors[static_cast<std::size_t>(l)]);
    return factors;
  }

 private:
  /// Like `add` above, for the queries of one vector from `first` on.
  void add(Tile& scores, std::int64_t keys, std::int64_t first, float* factors) {
    float* const tops = &maximum[static_cast<std::size_t>(first)];
    float* const sums = &sum[static_cast<std::size_t>(first)];
    Lanes top = lanes_at(tops).value;
    for (std::int64_t i = 0; i < keys; ++i) {
      const Lanes score = lanes_at(scores.row(i) + first).value;
      top = score > top ? score : top;
    }
    Lanes terms{};
    for (std::int64_t i = 0; i < keys; ++i) {
      Lanes weight = lanes_at(scores.row(i) + first).value - top;
      exponentiate(weight);
      terms += weight;
      lanes_at(scores.row(i) + first).value = weight;
    }
    Lanes factor = lanes_at(tops).value - top;
    exponentiate(factor);
    lanes_at(factors).value = factor;
    lanes_at(sums).value = lanes_at(sums).value * factor + terms;
    lanes_at(tops).value = top;
  }
};

/// One thread's computation of results.
template <class T>
class Results {
 public:
  explicit Results(const kernels::Attention& kernel)
      : kernel_(kernel),
        scores_(kernel.query, kernel.key, kernel.rule),
        queries_(block_queries, kernel.query.dim(3)),
        transposed_queries_(kernel.query.dim(3), block_queries),
        values_(kernel.value),
        sums_(kernel.value.dim(3), block_queries),
        results_(block_queries, kernel.value.dim(3)) {}

  void compute(const Queries& queries) {
    load(Head<const T>(kernel_.query, queries.example, queries.head), queries.first, queries.count, kernel_.rule.scale,
         queries_);
    transpose(queries_, queries.columns(), queries_.columns(), transposed_queries_);
    softmax_.start();
    for_each_keys(
        kernel_.rule.is_causal, queries, kernel_.key.dim(1), [&] { return sees_none(softmax_.maximum, queries.count); },
        [&](const Keys& keys) { add(queries, keys); });
    store_results(queries);
  }

 private:
  void add(const Queries& queries, const Keys& keys) {
    Tile& weights = scores_.compute(transposed_queries_, queries, keys);
    const PerQuery factors = softmax_.add(weights, keys.count, queries.columns());
    const bool is_first = keys.first == 0;
    if (!is_first) scale_sums(factors, queries.columns());
    if (kernel_.rule.dropout_rate > 0) scale_rows(scores_.draw(queries, keys), keys.count, queries.columns(), weights);
    const Tile& values = values_.of(queries.example, scores_.shared_head(queries), keys);
    multiply(transposed_factor(values), weights, kernel_.value.dim(3), keys.count, queries.columns(), !is_first, sums_);
  }

  void scale_sums(const PerQuery& factors, std::int64_t columns) {
    for (std::int64_t k = 0; k < kernel_.value.dim(3); ++k)
      for (std::int64_t l = 0; l < columns; ++l) sums_.row(k)[l] *= factors[static_cast<std::size_t>(l)];
  }

  void store_results(const Queries& queries) {
    PerQuery inverse;
    for (std::size_t l = 0; l < inverse.size(); ++l) inverse[l] = 1 / softmax_.sum[l];
    scale_sums(inverse, queries.columns());
    transpose(sums_, sums_.rows(), queries.columns(), results_);
    store(results_, queries.first, queries.count, Head<T>(kernel_.y, queries.example, queries.head));
    const std::int64_t row =
        (queries.example * kernel_.query.dim(2) + queries.head) * kernel_.query.dim(1) + queries.first;
    std::copy_n(softmax_.maximum.begin(), queries.count, kernel_.maximum.data<float>() + row);
    std::copy_n(softmax_.sum.begin(), queries.count, kernel_.sum.data<float>() + row);
  }

  const kernels::Attention& kernel_;
  Scores<T> scores_;
  RunningSoftmax softmax_;
  Tile queries_, transposed_queries_;
  CopiedRows<T> values_;
  Tile sums_;  ///< weighted sums of values, (dv, queries)
  Tile results_;
};

/// One thread's computation of gradients.
template <class T>
class Gradients {
 public:
  explicit Gradients(const kernels::AttentionGradient& kernel)
      : kernel_(kernel),
        scores_(kernel.query, kernel.key, kernel.rule),
        queries_(block_queries, kernel.query.dim(3)),
        transposed_queries_(kernel.query.dim(3), block_queries),
        values_(kernel.value),
        dresults_(block_queries, kernel.value.dim(3)),
        transposed_dresults_(kernel.value.dim(3), block_queries),
        results_(block_queries, kernel.value.dim(3)),
        transposed_results_(kernel.value.dim(3), block_queries),
        dscores_(block_keys, block_queries),
        transposed_dqueries_(kernel.query.dim(3), block_queries),
        dqueries_(block_queries, kernel.query.dim(3)),
        dkeys_(kernel.key.dim(1), kernel.key.dim(3)),
        dvalues_(kernel.key.dim(1), kernel.value.dim(3)) {}

  /// Those of a head of keys and values, and of all heads of queries that share it.
  void compute(std::int64_t example, std::int64_t shared_head) {
    dkeys_.fill(0);
    dvalues_.fill(0);
    const std::int64_t group = kernel_.query.dim(2) / kernel_.key.dim(2);
    const std::int64_t time = kernel_.query.dim(1);
    for (std::int64_t head = shared_head * group; head < (shared_head + 1) * group; ++head)
      for (std::int64_t first = 0; first < time; first += block_queries)
        add(Queries{example, head, first, std::min(block_queries, time - first)});
    store(dkeys_, 0, kernel_.key.dim(1), Head<T>(kernel_.dkey, example, shared_head));
    store(dvalues_, 0, kernel_.key.dim(1), Head<T>(kernel_.dvalue, example, shared_head));
  }

 private:
  void add(const Queries& queries) {
    start(queries);
    for_each_keys(
        kernel_.rule.is_causal, queries, kernel_.key.dim(1), [&] { return sees_none(maximum_, queries.count); },
        [&](const Keys& keys) { add(queries, keys); });
    const float scale = kernel_.rule.scale;
    for (std::int64_t k = 0; k < transposed_dqueries_.rows(); ++k)
      for (std::int64_t l = 0; l < queries.columns(); ++l) transposed_dqueries_.row(k)[l] *= scale;
    transpose(transposed_dqueries_, transposed_dqueries_.rows(), queries.columns(), dqueries_);
    store(dqueries_, queries.first, queries.count, Head<T>(kernel_.dquery, queries.example, queries.head));
  }

  /// Reads what the gradient needs of the queries.
  void start(const Queries& queries) {
    const auto read = [&](const Tensor& x, float factor, Tile& tile, Tile& transposed) {
      load(Head<const T>(x, queries.example, queries.head), queries.first, queries.count, factor, tile);
      transpose(tile, queries.columns(), tile.columns(), transposed);
    };
    read(kernel_.query, kernel_.rule.scale, queries_, transposed_queries_);
    read(kernel_.dy, 1, dresults_, transposed_dresults_);
    read(kernel_.y, 1, results_, transposed_results_);
    dots_.fill(0);
    for (std::int64_t k = 0; k < kernel_.value.dim(3); ++k)
      for (std::int64_t l = 0; l < queries.columns(); ++l)
        dots_[static_cast<std::size_t>(l)] += transposed_results_.row(k)[l] * transposed_dresults_.row(k)[l];
    const std::int64_t row =
        (queries.example * kernel_.query.dim(2) + queries.head) * kernel_.query.dim(1) + queries.first;
    maximum_.fill(0);
    inverse_.fill(0);
    seeing_.fill(0);
    for (std::int64_t l = 0; l < queries.count; ++l) {
      const auto at = static_cast<std::size_t>(l);
      maximum_[at] = kernel_.maximum.data<float>()[row + l];
      inverse_[at] = 1 / kernel_.sum.data<float>()[row + l];
      seeing_[at] = maximum_[at] == hidden_score ? 0.0F : 1.0F;
    }
  }

  void add(const Queries& queries, const Keys& keys) {
    const std::int64_t columns = queries.columns();
    Tile& weights = scores_.compute(transposed_queries_, queries, keys);
    const Tile& values = values_.of(queries.example, scores_.shared_head(queries), keys);
    multiply(factor(values), transposed_dresults_, keys.count, kernel_.value.dim(3), columns, false, dscores_);
    const bool drops = kernel_.rule.dropout_rate > 0;
    const Tile* const factors = drops ? &scores_.draw(queries, keys) : nullptr;
    if (drops) scale_rows(*factors, keys.count, columns, dscores_);
    for (std::int64_t i = 0; i < keys.count; ++i) differentiate_softmax(weights.row(i), dscores_.row(i), columns);
    if (drops) scale_rows(*factors, keys.count, columns, weights);
    multiply(factor(weights), dresults_, keys.count, queries.count, dresults_.columns(), true, dvalues_, keys.first);
    multiply(factor(dscores_), queries_, keys.count, queries.count, queries_.columns(), true, dkeys_, keys.first);
    multiply(transposed_factor(scores_.keys(queries, keys)), dscores_, kernel_.key.dim(3), keys.count, columns,
             keys.first > 0, transposed_dqueries_);
  }

  /// From a key's scores to its weights, and from the gradient of the weights to that of the scores.
  void differentiate_softmax(float* weights, float* dscores, std::int64_t columns) const {
    for (std::int64_t first = 0; first < columns; first += lanes) {
      const auto at = static_cast<std::size_t>(first);
      Lanes weight = lanes_at(weights + first).value - lanes_at(&maximum_[at]).value;
      exponentiate(weight);
      weight *= lanes_at(&inverse_[at]).value;
      lanes_at(weights + first).value = weight;
      lanes_at(dscores + first).value =
          weight * (lanes_at(dscores + first).value - lanes_at(&dots_[at]).value) * lanes_at(&seeing_[at]).value;
    }
  }

  const kernels::AttentionGradient& kernel_;
  Scores<T> scores_;
  PerQuery maximum_, inverse_;
  PerQuery dots_;    ///< products of the results and their gradients
  PerQuery seeing_;  ///< 0 for queries whose keys are all masked, else 1
  Tile queries_, transposed_queries_;
  CopiedRows<T> values_;
  Tile dresults_, transposed_dresults_, results_, transposed_results_;
  Tile dscores_, transposed_dqueries_, dqueries_;
  Tile dkeys_, dvalues_;  ///< of all keys
};

}  // namespace
}  // namespace lockstep::attention

namespace lockstep {

void kernels::Attention::on_cpu() const {
  const std::int64_t heads = query.dim(2);
  const std::int64_t time = query.dim(1);
  const std::int64_t blocks = (time + attention::block_queries - 1) / attention::block_queries;
  const std::int64_t work = attention::block_queries * key.dim(1) * (query.dim(3) + value.dim(3));
  visit_real(query.dtype(), [&]<class T>() {
    parallel_for(query.dim(0) * heads * blocks, attention::grain / work, [&](std::int64_t begin, std::int64_t end) {
      attention::Results<T> results(*this);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t head = i / blocks;
        const std::int64_t first = i % blocks * attention::block_queries;
        results.compute({head / heads, head % heads, first, std::min(attention::block_queries, time - first)});
      }
    });
  });
}

void kernels::AttentionGradient::on_cpu() const {
  const std::int64_t heads = key.dim(2);
  const std::int64_t work = query.dim(1) * query.dim(2) / heads * key.dim(1) * (query.dim(3) + value.dim(3));
  visit_real(query.dtype(), [&]<class T>() {
    parallel_for(query.dim(0) * heads, attention::grain / std::max<std::int64_t>(1, work),
                 [&](std::int64_t begin, std::int64_t end) {
                   attention::Gradients<T> gradients(*this);
                   for (std::int64_t i = begin; i < end; ++i) gradients.compute(i / heads, i % heads);
                 });
  });
}

}  // namespace lockstep
