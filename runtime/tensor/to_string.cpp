#include "lockstep/runtime/tensor/to_string.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace lockstep {
namespace {

constexpr std::int64_t most_elements = 1000;
constexpr std::int64_t edge = 3;  // elements at each end of an axis that is shortened

/// Writes the elements of a tensor in host memory.
class Writer {
 public:
  explicit Writer(Tensor host) : host_(std::move(host)), shortens_(host_.elements() > most_elements) {
    visit(0, 0, [&](std::int64_t at) { width_ = std::max(width_, element(at).size()); });
  }

  std::string text() {
    write(0, 0);
    return std::move(text_);
  }

 private:
  bool shortens(int axis) const { return shortens_ && host_.dim(axis) > 2 * edge; }
  /// The index after `i` that is shown.
  std::int64_t next(int axis, std::int64_t i) const {
    return shortens(axis) && i == edge - 1 ? host_.dim(axis) - edge : i + 1;
  }

  /// Calls f with the offset of each element that is shown.
  template <class F>
  void visit(int axis, std::int64_t offset, const F& f) const {
    if (axis == host_.rank()) return f(offset);
    for (std::int64_t i = 0; i < host_.dim(axis); i = next(axis, i)) visit(axis + 1, offset + i * stride(axis), f);
  }

  void write(int axis, std::int64_t offset) {
    if (axis == host_.rank()) {
      text_ += fmt::format("{:>{}}", element(offset), width_);
      return;
    }
    const int rest = host_.rank() - axis - 1;
    const std::string between = rest == 0 ? " "
                                          : std::string(static_cast<std::size_t>(rest), '\n') +
                                                std::string(static_cast<std::size_t>(axis + 1), ' ');
    text_ += '[';
    for (std::int64_t i = 0; i < host_.dim(axis); i = next(axis, i)) {
      if (i > 0) text_ += between;
      write(axis + 1, offset + i * stride(axis));
      if (shortens(axis) && i == edge - 1) text_ += between + "...";
    }
    text_ += ']';
  }

  std::int64_t stride(int axis) const { return host_.strides()[axis]; }

  std::string element(std::int64_t offset) const {
    return visit_dtype(host_.dtype(), [&]<class T>() {
      const T value = host_.data<T>()[offset];
      if constexpr (is_real(dtype_of<T>))
        return std::isnan(static_cast<float>(value)) ? "nan" : fmt::format("{:.6g}", static_cast<float>(value));
      else
        return fmt::format("{}", value);
    });
  }

  Tensor host_;
  bool shortens_;
  std::size_t width_ = 0;
  std::string text_;
};

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.defined()) return x.text();
  return x.elements() == 0 ? "[]" : Writer(x.on_host()).text();
}

}  // namespace lockstep
