#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/runtime/data/cache_file.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class FileCache final : public UnaryStage {
 public:
  FileCache(StagePtr input, std::filesystem::path file) : UnaryStage(std::move(input)), file_(std::move(file)) {}

  std::unique_ptr<Cursor> open(std::uint64_t) const override;
  bool can_peek() const override { return false; }
  bool has_fixed_parts() const override { return false; }
  std::optional<std::int64_t> rows_between(std::int64_t begin, std::int64_t end, int level) const override {
    return input_->rows_between(begin, end, level);
  }
  StagePtr row_numbers(RowTensors& tensors) const override {
    return rows_of_elements(make_file_cache(input_, file_), tensors);
  }

 private:
  friend class FileCacheCursor;

  std::filesystem::path file_;
  mutable std::atomic<bool> warned_ = false;
};

/// Reads the file or, if it does not exist when the first element is wanted, makes the elements and writes it.
class FileCacheCursor final : public Cursor {
 public:
  explicit FileCacheCursor(const FileCache& stage) : stage_(stage) {}
  ~FileCacheCursor() override {
    if (writer_ && position_ > 0 && !stage_.warned_.exchange(true))
      lockstep::log_warning("{}: not written, because a pass ended after {} element(s), before the end of the data set",
                            stage_.file_.string(), position_);
  }

  std::optional<Example> next() override {
    begin();
    if (!reader_) return make();
    if (position_ == reader_->size()) return std::nullopt;
    return reader_->read(position_++);
  }

  std::int64_t skip(std::int64_t count) override {
    begin();
    if (!reader_) return Cursor::skip(count);  // a file has all elements
    const std::int64_t skipped = std::min(count, reader_->size() - position_);
    position_ += skipped;
    return skipped;
  }

 private:
  void begin() {
    if (reader_ || pass_) return;
    std::error_code error;
    if (!std::filesystem::is_regular_file(stage_.file_, error)) {
      writer_ = std::make_unique<CacheFileWriter>(stage_.file_);
      pass_ = stage_.input_->open(/*epoch=*/0);  // also in a program that resumes at a later one
      return;
    }
    reader_ = std::make_unique<CacheFileReader>(stage_.file_);
    const std::int64_t size = stage_.input_->size().value_or(reader_->size());
    require<InputError>(size == reader_->size(),
                        "{}: has {} elements, the data set has {}: it is the cache of another data set; delete it or "
                        "name another file",
                        stage_.file_.string(), reader_->size(), size);
  }

  std::optional<Example> make() {
    std::unique_ptr<CacheFileWriter> writer = std::move(writer_);  // given up after an exception
    std::optional<Example> element = pass_->next();
    if (!writer) return element;
    if (element) {
      writer->add(*element);
      ++position_;
    }
    // The caller may know the size and not ask for the end.
    if (!element || position_ == stage_.input_->size())
      writer->commit();
    else
      writer_ = std::move(writer);
    return element;
  }

  const FileCache& stage_;
  std::unique_ptr<CacheFileReader> reader_;  ///< null if the pass makes the elements
  std::unique_ptr<CacheFileWriter> writer_;  ///< null without a file to complete
  std::unique_ptr<Cursor> pass_;             ///< over the input
  std::int64_t position_ = 0;
};

std::unique_ptr<Cursor> FileCache::open(std::uint64_t) const { return std::make_unique<FileCacheCursor>(*this); }

}  // namespace

StagePtr make_file_cache(StagePtr input, const std::filesystem::path& file) {
  return std::make_shared<FileCache>(std::move(input), file);
}

}  // namespace lockstep::detail
