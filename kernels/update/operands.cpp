#include <span>

#include <lockstep/kernels/update/update_kernels.h>

namespace lockstep::kernels {
namespace {

template <class T>
void add(std::vector<Operand>& list, std::span<T* const> pointers, std::int64_t count) {
  for (const T* const pointer : pointers) list.emplace_back(pointer, count);
}

}  // namespace

std::vector<Operand> Reduce::operands() const {
  std::vector<Operand> list;
  const auto add_views = [&](const auto& of) {
    add(list, of.in, of.count);
    add(list, of.out, of.count);
  };
  std::visit(add_views, views);
  return list;
}

std::function<void()> Reduce::deferred() const {
  return std::visit(
      [this]<class T>(const ReduceViews<T>& of) -> std::function<void()> {
        return [op = op, in = std::vector<const T*>(of.in.begin(), of.in.end()),
                out = std::vector<T*>(of.out.begin(), of.out.end()), count = of.count, terms = of.terms] {
          on_host(Reduce{op, ReduceViews<T>{in, out, count, terms}});
        };
      },
      views);
}

std::vector<Operand> Update::operands() const {
  std::vector<Operand> list;
  add(list, views.gradients, views.count);
  add(list, views.parameters, views.count);
  add(list, views.state, views.count);
  return list;
}

}  // namespace lockstep::kernels
