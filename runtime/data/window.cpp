#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/runtime/data/element_error.h>
#include <lockstep/runtime/data/stack.h>
#include <lockstep/runtime/data/stage.h>

namespace lockstep::detail {
namespace {

class Windows final : public UnaryStage {
 public:
  Windows(StagePtr input, std::int64_t size, std::int64_t shift, const WindowOptions& options)
      : UnaryStage(std::move(input)),
        span_((size - 1) * options.stride + 1),
        shift_(shift),
        stride_(options.stride),
        drop_remainder_(options.drop_remainder) {}

  std::unique_ptr<Cursor> open(std::uint64_t epoch) const override;
  Extent extent() const override {
    Extent windows = input_->extent();
    if (windows.most == Extent::endless) return windows;
    const std::int64_t starts = drop_remainder_ ? windows.most - span_ + 1 : windows.most;
    windows.most = starts <= 0 ? 0 : (starts - 1) / shift_ + 1;
    windows.exact = windows.exact || windows.most == 0;
    return windows;
  }
  StagePtr fixed_part(std::int64_t first, std::int64_t count) const override {
    if (shift_ < span_) return no_fixed_part(*input_, "window");  // the windows on both sides of a border overlap
    return with_input(input_->fixed_part(elements_of(first), elements_of(count)), *this);
  }

 private:
  friend class WindowsCursor;

  /// Number of elements from the start of a window to that of the `windows`-th one after it.
  std::int64_t elements_of(std::int64_t windows) const {
    std::int64_t elements = 0;
    return __builtin_mul_overflow(windows, shift_, &elements) ? Extent::endless : elements;
  }

  std::int64_t span_;  ///< number of consecutive elements that a whole window covers
  std::int64_t shift_;
  std::int64_t stride_;
  bool drop_remainder_;
};

class WindowsCursor final : public Cursor {
 public:
  WindowsCursor(const Windows& stage, std::uint64_t epoch)
      : stage_(stage), input_(stage.input_->open(epoch)), windows_(stage.size()) {}

  std::optional<Example> next() override {
    read();
    const auto covered = static_cast<std::int64_t>(buffer_.size());
    if (covered == 0 || (stage_.drop_remainder_ && covered < stage_.span_)) return std::nullopt;
    Example window = stacked();
    shift_by(stage_.shift_);
    ++number_;
    return window;
  }

  std::int64_t skip(std::int64_t count) override {
    if (!windows_) return Cursor::skip(count);  // where the input ends decides how many windows it has
    const std::int64_t skipped = std::min(count, *windows_ - number_);
    shift_by(stage_.elements_of(skipped));
    number_ += skipped;
    return skipped;
  }

 private:
  /// Reads the elements that the next window covers.
  void read() {
    if (gap_ > 0) input_->skip(std::exchange(gap_, 0));
    while (more_ && static_cast<std::int64_t>(buffer_.size()) < stage_.span_) {
      std::optional<Example> element = input_->next();
      more_ = element.has_value();
      if (more_) buffer_.push_back(std::move(*element));
    }
  }

  Example stacked() const {
    try {
      if (stage_.stride_ == 1) return stack(buffer_);
      std::vector<Example> elements;
      for (std::size_t i = 0; i < buffer_.size(); i += static_cast<std::size_t>(stage_.stride_))
        elements.push_back(buffer_[i]);
      return stack(elements);
    } catch (...) {
      std::rethrow_exception(with_element("window", number_));
    }
  }

  /// Moves the start of the next window. Elements before it that have not been read are skipped by the next `read`.
  void shift_by(std::int64_t elements) {
    const std::int64_t read = std::min(elements, static_cast<std::int64_t>(buffer_.size()));
    buffer_.erase(buffer_.begin(), buffer_.begin() + read);
    if (__builtin_add_overflow(gap_, elements - read, &gap_)) gap_ = Extent::endless;
  }

  const Windows& stage_;
  std::unique_ptr<Cursor> input_;
  std::optional<std::int64_t> windows_;  ///< number of windows of the pass, if known
  std::vector<Example> buffer_;          ///< the input's elements from the next window's first one on
  std::int64_t gap_ = 0;                 ///< number of elements between those read and the next window's first one
  std::int64_t number_ = 0;              ///< of the next window
  bool more_ = true;
};

std::unique_ptr<Cursor> Windows::open(std::uint64_t epoch) const {
  return std::make_unique<WindowsCursor>(*this, epoch);
}

}  // namespace

StagePtr make_window(StagePtr input, std::int64_t size, std::int64_t shift, const WindowOptions& options) {
  return std::make_shared<Windows>(std::move(input), size, shift, options);
}

}  // namespace lockstep::detail
