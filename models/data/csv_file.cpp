#include "lockstep/models/data/csv_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <lockstep/models/data/byte_reader.h>
#include <lockstep/models/data/csv_column_part.h>
#include <lockstep/models/files/character_block.h>
#include <lockstep/models/files/csv.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/data/host_context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

/// Consecutive records of a file, and the columns of which values are read from them.
struct Chunk {
  std::string_view text{};
  std::int64_t rows = 0;
  std::vector<std::optional<CsvColumnPart>> parts{};
  std::exception_ptr error{};
  std::optional<std::int64_t> error_line{};  ///< from 0 in the chunk; empty for a quotation mark that is not closed
};

/// The end of the line that contains `text[at]` or, if this end is within quotation marks, of the first later line
/// whose end is not. `before`: number of quotation marks before `at`. This is a guess, because quotation marks in a
/// field that does not begin with one do not quote.
std::size_t end_of_record(std::string_view text, std::size_t at, std::int64_t before) {
  for (; at < text.size(); ++at) {
    if (text[at] == '"') ++before;
    if (before % 2 == 0 && (text[at] == '\n' || text[at] == '\r')) break;
  }
  // "\r\n" is one line end.
  return at > 0 && at < text.size() && text.substr(at - 1).starts_with("\r\n") ? at - 1 : at;
}

std::int64_t quotation_marks_in(std::string_view text) {
  std::int64_t count = 0;
  for (; text.size() >= sizeof(CharacterBlock); text.remove_prefix(sizeof(CharacterBlock)))
    count += std::popcount(CharacterBlock(text.data()).equal_to('"'));
  return count + std::ranges::count(text, '"');
}

/// Splits records into at most `count` chunks of about the same length. Assumes that each quotation mark in the text
/// begins or ends a quoted value, so a chunk may end inside a record.
std::vector<std::string_view> guess_chunks(std::string_view records, std::size_t count) {
  const std::size_t step = records.size() / count;
  std::vector<std::int64_t> quotes(count);
  parallel_for<LoopThreads::onetbb>(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      quotes[i] = quotation_marks_in(records.substr(step * i, step));
  });
  std::vector<std::string_view> chunks;
  std::int64_t before = 0;
  for (std::size_t begin = 0, i = 1; i <= count && begin < records.size(); ++i) {
    before += quotes[i - 1];
    if (i < count && step * i <= begin) continue;  // in a record that is longer than a chunk
    const std::size_t end = i == count ? records.size() : end_of_record(records, step * i, before);
    if (end <= begin) continue;
    chunks.push_back(records.substr(begin, end - begin));
    begin = end;
  }
  return chunks;
}

/// Splits records like guess_chunks, but always at the end of a record. If a quotation mark is not closed, the last
/// chunk has all records up to the end.
std::vector<std::string_view> find_chunks(std::string_view records, std::size_t count, char separator) {
  std::vector<std::string_view> chunks;
  CsvRecords walk(records, separator);
  for (std::size_t begin = 0, i = 1; i <= count && begin < records.size(); ++i) {
    const std::size_t wanted = i == count ? records.size() : records.size() / count * i;
    std::size_t end = records.size();
    try {
      while (walk.position() < wanted && walk.next({}) > 0) continue;
      end = walk.position();
    } catch (const InputError&) {
    }
    chunks.push_back(records.substr(begin, end - begin));
    begin = end;
  }
  return chunks;
}

/// Calls body(element) for all elements. A thread takes the next one when it has finished one.
template <class Elements, class Body>
void for_each_of(Elements& elements, const Body& body) {
  std::atomic<std::size_t> next = 0;
  parallel_for<LoopThreads::onetbb>(static_cast<std::int64_t>(elements.size()), 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < elements.size(); i = next++) body(elements[i]);
  });
}

/// The content of a CSV file.
class CsvText {
 public:
  CsvText(std::string_view text, const CsvOptions& options) : text_(text), options_(options) {
    CsvRecords records(text_, options_.separator);
    names_ = records.next_copied();
    require<InputError>(!names_.empty(), "is empty");
    for (std::size_t i = 0; !options_.header && i < names_.size(); ++i) names_[i] = fmt::format("{}", i);
    std::set<std::string> different;
    for (const std::string& name : names_)
      require<InputError>(different.insert(name).second, "two columns have the name {:?}", name);
    for (const auto& [name, type] : options_.types)
      require<InputError>(different.contains(name), "has no column {:?}", name);
    if (options_.header) records_ = text_.substr(records.position());
  }

  std::vector<CsvColumn> columns() {
    std::vector<CsvColumn> columns;
    for (const std::string& name : names_)
      columns.push_back({name, given_type(name).value_or(CsvType::integer), {}, {}});
    constexpr std::size_t smallest_chunk = 1 << 16;
    constexpr int chunks_of_thread = 8;
    const std::size_t count = std::clamp<std::size_t>(records_.size() / smallest_chunk, 1,
                                                      static_cast<std::size_t>(chunks_of_thread * compute_threads()));
    read_chunks(guess_chunks(records_, count));
    // Chunks before the first error end where records do, so the error's chunk begins where one does.
    if (const Chunk* const bad = first_error(); bad != nullptr && !bad->error_line)
      read_chunks(find_chunks(records_, count, options_.separator));
    check_errors();
    for (std::size_t i = 0; i < columns.size(); ++i)
      for (const Chunk& chunk : chunks_) columns[i].type = std::max(columns[i].type, chunk.parts[i]->type());
    for_each_of(chunks_, [&](Chunk& chunk) { read_again(chunk, columns); });
    for_each_of(columns, [&](CsvColumn& column) {
      const auto index = static_cast<std::size_t>(&column - columns.data());
      if (column.type == CsvType::category) sort_categories(column, index);
      join(column, index);
    });
    return columns;
  }

 private:
  std::optional<CsvType> given_type(const std::string& name) const {
    const auto given = options_.types.find(name);
    return given == options_.types.end() ? std::nullopt : std::optional(given->second);
  }

  void read_chunks(const std::vector<std::string_view>& texts) {
    chunks_.clear();
    for (const std::string_view text : texts) chunks_.push_back(Chunk{.text = text});
    for_each_of(chunks_, [&](Chunk& chunk) {
      add_parts(chunk);
      try {
        read(chunk, rows_at_once());
      } catch (const InputError&) {
        find_error(chunk);
      }
    });
  }

  void add_parts(Chunk& chunk) const {
    for (const std::string& name : names_) chunk.parts.emplace_back(CsvColumnPart(given_type(name), text_, missing_));
  }

  /// The number of records of which the fields stay in the processor's first cache.
  std::size_t rows_at_once() const { return std::max<std::size_t>(1, 512 / names_.size()); }

  /// Reads the values of the columns that have a part, column by column of `most` records at a time.
  void read(Chunk& chunk, std::size_t most) const {
    CsvRecords records(chunk.text, options_.separator, 0);
    std::vector<std::string_view> fields(most * names_.size());
    while (const std::size_t rows = next_fields(records, fields, chunk.error_line)) {
      for (std::size_t i = 0; i < names_.size(); ++i)
        if (chunk.parts[i]) chunk.parts[i]->add({&fields[i], rows, names_.size()}, names_[i]);
      if (chunk.rows == 0) reserve(chunk, rows, records.position());
      chunk.rows += static_cast<std::int64_t>(rows);
      records.release();
    }
  }

  /// Reads the fields of as many records as there is room for; returns their number. `line` is the last one's, empty
  /// while the next one is read.
  std::size_t next_fields(CsvRecords& records, std::span<std::string_view> fields,
                          std::optional<std::int64_t>& line) const {
    std::size_t rows = 0;
    for (; !fields.empty(); fields = fields.subspan(names_.size()), ++rows) {
      line.reset();
      const std::size_t count = records.next(fields.first(names_.size()));
      if (count == 0) break;
      line = records.line();
      require<InputError>(count == names_.size(), "has {} field(s), the first record has {}", count, names_.size());
    }
    return rows;
  }

  /// Reads a chunk with an error, record by record, up to its first error.
  void find_error(Chunk& chunk) const {
    chunk = Chunk{.text = chunk.text};
    add_parts(chunk);
    try {
      read(chunk, 1);
    } catch (const InputError&) {
      chunk.error = std::current_exception();
    }
  }

  /// Makes room for all records of a chunk if they are about as long as the first `rows`, of `bytes` together.
  static void reserve(Chunk& chunk, std::size_t rows, std::size_t bytes) {
    const std::size_t all = chunk.text.size() / bytes * rows;
    for (std::optional<CsvColumnPart>& part : chunk.parts)
      if (part) part->reserve(all + all / 16);
  }

  /// Reads columns of which the chunk has no values of the column's type.
  void read_again(Chunk& chunk, const std::vector<CsvColumn>& columns) const {
    Chunk again{.text = chunk.text, .parts = std::vector<std::optional<CsvColumnPart>>(columns.size())};
    bool any = false;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (!chunk.parts[i]->has_values(columns[i].type)) {
        again.parts[i].emplace(columns[i].type, text_, missing_);
        any = true;
      }
    if (!any) return;
    read(again, rows_at_once());
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (again.parts[i]) chunk.parts[i] = std::move(again.parts[i]);
  }

  /// The first chunk with an error; null if there is none.
  const Chunk* first_error() const {
    const auto bad = std::ranges::find_if(chunks_, [](const Chunk& chunk) { return chunk.error != nullptr; });
    return bad == chunks_.end() ? nullptr : &*bad;
  }

  /// Throws the file's first error.
  void check_errors() const {
    const Chunk* const bad = first_error();
    if (bad == nullptr) return;
    // Up to the bad chunk; throws for a quotation mark that is not closed, which has no line yet.
    const auto end = bad->error_line ? static_cast<std::size_t>(bad->text.data() - text_.data()) : text_.size();
    CsvRecords before(text_.substr(0, end), options_.separator);
    while (before.next({}) > 0) continue;
    try {
      std::rethrow_exception(bad->error);
    } catch (Error& error) {
      error.add_context(fmt::format("line {}", before.next_line() + *bad->error_line));
      throw;
    }
  }

  /// Makes the categories of a column of those of the chunks.
  void sort_categories(CsvColumn& column, std::size_t index) {
    TextCodes different;
    for (const Chunk& chunk : chunks_)
      for (const std::string& text : chunk.parts[index]->texts()) different.code_of(text);
    column.categories.assign(different.texts().begin(), different.texts().end());
    std::ranges::sort(column.categories);
    std::vector<std::int32_t> sorted(column.categories.size());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      sorted[static_cast<std::size_t>(different.code_of(column.categories[i]))] = static_cast<std::int32_t>(i);
    for (Chunk& chunk : chunks_) {
      std::vector<std::int32_t> new_codes;
      for (const std::string& text : chunk.parts[index]->texts())
        new_codes.push_back(sorted[static_cast<std::size_t>(different.code_of(text))]);
      chunk.parts[index]->replace_codes(new_codes);
    }
  }

  void join(CsvColumn& column, std::size_t index) const {
    std::int64_t rows = 0;
    for (const Chunk& chunk : chunks_) rows += chunk.rows;
    constexpr std::array dtypes{DType::i64, DType::f32, DType::i32};  // of CsvType
    column.values = Tensor::empty({rows}, dtypes[static_cast<std::size_t>(column.type)]);
    std::int64_t row = 0;
    for (const Chunk& chunk : chunks_) {
      chunk.parts[index]->copy_to(column, row);
      row += chunk.rows;
    }
  }

  std::string_view text_;
  std::string_view records_ = text_;  ///< without the header
  const CsvOptions& options_;
  MissingTexts missing_{options_.na_values};
  std::vector<std::string> names_;
  std::vector<Chunk> chunks_;
};

void check_rows(const std::vector<CsvColumn>& columns) {
  const Tensor& first = columns.front().values;
  for (const auto& [name, type, values, categories] : columns)
    require(values.defined() && values.rank() == 1 && values.shape() == first.shape(),
            "the columns of a table need equally many values of shape (rows), got {:?} {} and {:?} {}",
            columns.front().name, first, name, values);
}

/// Copies a column as f32, with a distance of `stride` elements between values.
void copy_column(const Tensor& values, float* to, std::int64_t stride) {
  visit_dtype(values.dtype(), [&]<class T>() {
    for (const T value : values.span<const T>()) {
      *to = static_cast<float>(value);
      to += stride;
    }
  });
}

}  // namespace

std::vector<CsvColumn> read_csv(const std::filesystem::path& file, const CsvOptions& options) {
  const ContextScope host(detail::host_context());
  const Tensor bytes = ByteReader(file).read_all();
  std::string_view text(static_cast<const char*>(bytes.raw_data()), static_cast<std::size_t>(bytes.dim(0)));
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  try {
    return CsvText(text, options).columns();
  } catch (Error& error) {
    error.add_context(file.string());
    throw;
  }
}

Example csv_examples(const std::vector<CsvColumn>& columns, const std::string& target) {
  const auto y = std::ranges::find(columns, target, &CsvColumn::name);
  require(target.empty() || y != columns.end(), "there is no column {:?}", target);
  const auto is_input = [&](const CsvColumn& column) { return target.empty() || column.name != target; };
  const std::int64_t count = std::ranges::count_if(columns, is_input);
  require(count >= 1, "there is no column for x");
  check_rows(columns);
  const ContextScope host(detail::host_context());
  Example examples{{Tensor::empty({columns.front().values.dim(0), count})}};
  float* to = examples.x().data<float>();
  for (const CsvColumn& column : columns)
    if (is_input(column)) copy_column(column.values, to++, count);
  if (target.empty()) return examples;
  const std::vector<float> values = y->type == CsvType::integer ? std::vector<float>() : y->values.to_vector<float>();
  for (std::size_t row = 0; row < values.size(); ++row)
    require(!std::isnan(values[row]) && (y->type == CsvType::number || values[row] >= 0),
            "column {:?} of the targets has no value in row {}", target, row);
  examples.targets = {y->values};
  return examples;
}

}  // namespace lockstep
