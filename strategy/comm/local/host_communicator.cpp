#include "lockstep/strategy/comm/local/host_communicator.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/memory/borrowed_memory.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/comm/collective_names.h>
#include <lockstep/strategy/comm/combine.h>
#include <lockstep/strategy/comm/pack_plan.h>

namespace lockstep {
namespace {

constexpr const char* reduce_end = "the end of all_reduce";
constexpr const char* gather_end = "the end of all_gather";

bool all_defined(std::span<const Tensor> values) {
  return std::all_of(values.begin(), values.end(), [](const Tensor& value) { return value.defined(); });
}

/// The value, or a copy of it that this replica's kernels can read and, with `for_all`, those of the other replicas.
Tensor readable(const Tensor& value, bool for_all) {
  if (!value.defined()) return value;
  const Tensor here = reachable_from(current_context().device, value);
  if (!for_all || !is_borrowed(here.raw_data())) return here;
  const Tensor own = Tensor::empty(here.shape(), here.dtype());
  assign(here, own);
  return own;
}

/// The part of an error message that names one of several tensors.
std::string place_text(std::size_t i, std::size_t number) {
  return number == 1 ? std::string() : fmt::format(" as tensor {} of {}", i + 1, number);
}

}  // namespace

HostCommunicator::HostCommunicator(ReplicaGroup& group, std::int64_t bytes_per_pack)
    : group_(group), bytes_per_pack_(bytes_per_pack), posts_(static_cast<std::size_t>(group.size())) {}

std::vector<Tensor> HostCommunicator::all_reduce(int replica, ReduceOp op, std::span<const Tensor> values) try {
  const PhaseTimer timer(Phase::reduce);
  Post& own = posts_[replica];
  own = {.op = op, .values = readable_by_all(values)};
  std::vector<Pack> plan;
  if (all_defined(values)) plan = plan_packs(values, bytes_per_pack_);
  for (const Pack& pack : plan) {
    own.packed.push_back(pack_up(own.values, pack));
    own.reduced.push_back(Tensor::empty(own.packed.back().shape(), own.packed.back().dtype()));
  }
  group_.barrier(replica, all_reduce_name);
  agree(replica, reduce_end, [&] { check_reduction(); });
  combine(replica, op, packs());
  group_.barrier(replica, reduce_end);

  const Post done = std::exchange(own, Post{});
  std::vector<Tensor> results(values.size());
  for (std::size_t pack = 0; pack < plan.size(); ++pack) unpack(done.reduced[pack], values, plan[pack], results);
  return results;
} catch (Error& error) {
  rethrow_from(all_reduce_name, error);
}

std::vector<Gathered> HostCommunicator::all_gather(int replica, std::span<const Tensor> values, int axis) try {
  const PhaseTimer timer(Phase::reduce);
  posts_[replica] = {.axis = axis, .values = readable_by_all(values)};
  group_.barrier(replica, all_gather_name);
  agree(replica, gather_end, [&] { check_gathering(); });

  std::vector<Gathered> results(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int along = values[i].shape().normalize_axis(axis);
    Shape shape = values[i].shape();
    shape[along] = 0;
    for (const Post& post : posts_) shape[along] += post.values[i].shape()[along];
    const Tensor whole = Tensor::empty(shape, values[i].dtype());
    std::int64_t begin = 0;
    for (const Post& post : posts_) {
      const Tensor& part = post.values[i];
      if (&post == &posts_[replica]) results[i].offset = begin;
      const std::int64_t end = begin + part.shape()[along];
      if (shares_memory())
        launch(kernels::Convert{part, whole.slice_view(along, begin, end)});
      else
        assign(part, whole.slice_view(along, begin, end));
      begin = end;
    }
    results[i].value = whole;
  }
  group_.barrier(replica, gather_end);
  posts_[replica] = {};
  return results;
} catch (Error& error) {
  rethrow_from(all_gather_name, error);
}

std::vector<Tensor> HostCommunicator::readable_by_all(std::span<const Tensor> values) const {
  const bool for_all = shares_memory() && group_.size() > 1;
  std::vector<Tensor> all;
  for (const Tensor& value : values) all.push_back(readable(value, for_all));
  return all;
}

void HostCommunicator::agree(int replica, const char* end, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error&) {
    group_.barrier(replica, end);
    posts_[replica] = {};
    throw;
  }
}

void HostCommunicator::check_numbers(const char* what) const {
  std::vector<std::size_t> numbers;
  for (const Post& post : posts_) {
    numbers.push_back(post.values.size());
    for (const Tensor& value : post.values)
      require(value.defined(), "{} takes tensors, got an undefined one from replica {}", what, &post - posts_.data());
  }
  require(std::all_of(numbers.begin(), numbers.end(), [&](std::size_t n) { return n == numbers.front(); }),
          "{} needs as many tensors from every replica, got {}", what, fmt::join(numbers, ", "));
}

void HostCommunicator::check_reduction() const {
  check_numbers(all_reduce_name);
  const Post& first = posts_.front();
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    const bool same = std::all_of(posts_.begin(), posts_.end(), [&](const Post& post) {
      return post.op == first.op && post.values[i].shape() == first.values[i].shape() &&
             post.values[i].dtype() == first.values[i].dtype();
    });
    if (!same) {
      std::vector<std::string> all;
      for (const Post& post : posts_) all.push_back(fmt::format("{} of {}", name(post.op), post.values[i]));
      fail("all_reduce needs the same op, shape and dtype on every replica, got {}{}", fmt::join(all, ", "),
           place_text(i, first.values.size()));
    }
    check_reducible(first.op, first.values[i].dtype());
  }
}

void HostCommunicator::check_gathering() const {
  check_numbers(all_gather_name);
  const Post& first = posts_.front();
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    const auto place = [&] { return place_text(i, first.values.size()); };
    const Tensor& model = first.values[i];
    for (const Post& post : posts_)
      if (post.values[i].rank() == 0)
        fail("all_gather joins tensors along an axis, which scalars do not have: got {}{}; give them the shape (1)",
             texts(i), place());
    std::vector<int> axes;
    for (const Post& post : posts_) axes.push_back(post.values[i].shape().normalize_axis(post.axis));
    const bool fit = std::ranges::all_of(posts_, [&](const Post& post) {
      return post.values[i].dtype() == model.dtype() && joinable(post.values[i].shape(), model.shape(), axes.front());
    });
    if (!fit)
      fail("all_gather along axis {} needs the same dtype, rank and other sizes on every replica, got {}{}", first.axis,
           texts(i), place());
    require(std::all_of(axes.begin(), axes.end(), [&](int axis) { return axis == axes.front(); }),
            "all_gather needs the same axis on every replica, got {}", fmt::join(axes, ", "));
  }
}

std::string HostCommunicator::texts(std::size_t i) const {
  std::vector<std::string> all;
  for (const Post& post : posts_) all.push_back(post.values[i].text());
  return fmt::format("{}", fmt::join(all, ", "));
}

std::vector<HostCommunicator::PackViews> HostCommunicator::packs() const {
  std::vector<PackViews> packs(posts_.front().packed.size());
  for (std::size_t pack = 0; pack < packs.size(); ++pack)
    for (const Post& post : posts_) {
      packs[pack].in.push_back(post.packed[pack]);
      packs[pack].out.push_back(post.reduced[pack]);
    }
  return packs;
}

}  // namespace lockstep
