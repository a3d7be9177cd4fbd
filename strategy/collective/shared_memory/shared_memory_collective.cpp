#include <algorithm>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include <lockstep/kernels/backend.h>
#include <lockstep/kernels/ops/array.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/collective/shared_memory/shared_memory_collective.h>

namespace lockstep {
namespace {

std::vector<float*> advanced(std::span<float* const> pointers, std::int64_t offset) {
  std::vector<float*> result(pointers.begin(), pointers.end());
  for (float*& pointer : result) pointer += offset;
  return result;
}

}  // namespace

FlatRange shard_of(const FlatRange& range, int replica, int replicas) {
  constexpr std::int64_t line = 16;  // floats in a cache line: two replicas never write to the same one
  const std::int64_t lines = (range.end - range.begin + line - 1) / line;
  const auto border = [&](int share) { return std::min(range.end, range.begin + lines * share / replicas * line); };
  return {border(replica), border(replica + 1)};
}

SharedMemoryCollective::SharedMemoryCollective(ReplicaGroup& group)
    : group_(group), posts_(static_cast<std::size_t>(group.size())) {}

std::string SharedMemoryCollective::disagreement() const {
  const Post& first = posts_.front();
  const bool agree = std::all_of(posts_.begin(), posts_.end(), [&](const Post& post) {
    return post.op == first.op && post.value.shape() == first.value.shape();
  });
  if (agree) return {};
  std::vector<std::string> all;
  for (const Post& post : posts_) all.push_back(fmt::format("{} of {}", name(post.op), post.value.text()));
  return fmt::format("all_reduce needs the same op and shape on every replica, got {}", fmt::join(all, ", "));
}

Tensor SharedMemoryCollective::all_reduce(int replica, ReduceOp op, const Tensor& value) {
  const PhaseTimer timer(Phase::reduce);
  require(value.defined() && value.dtype() == DType::f32, "all_reduce combines f32 tensors, got {}", value);
  posts_[replica] = {op, dense_copy(value), Tensor::empty(value.shape())};
  group_.meet(replica, "all_reduce");
  if (const std::string problem = disagreement(); !problem.empty()) {
    group_.meet(replica, "the end of all_reduce");  // nobody leaves, and posts anew, while another still reads
    fail("{}", problem);
  }
  const FlatRange share = shard_of({0, value.elements()}, replica, group_.size());
  std::vector<const float*> in;
  std::vector<float*> out;
  for (const Post& post : posts_) {
    in.push_back(post.value.data<float>() + share.begin);
    out.push_back(post.result.data<float>() + share.begin);
  }
  current_backend().reduce(op, {in, out, share.end - share.begin});
  group_.meet(replica, "the end of all_reduce");
  return std::exchange(posts_[replica], Post{}).result;
}

void SharedMemoryCollective::reduce_and_update(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                                               const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::reduce);
    group_.meet(replica, "the reduction of gradients");
  }
  {
    const PhaseTimer timer(Phase::update);
    for (const FlatRange& range : ranges) {
      const FlatRange share = shard_of(range, replica, group_.size());
      if (share.begin == share.end) continue;
      const std::vector<float*> gradients = advanced(views.gradients, share.begin);
      const std::vector<const float*> read_only(gradients.begin(), gradients.end());
      const std::vector<float*> parameters = advanced(views.parameters, share.begin);
      const std::vector<float*> state = advanced(views.state, share.begin);
      update({read_only, parameters, state, share.end - share.begin});
    }
  }
  const PhaseTimer timer(Phase::reduce);
  group_.meet(replica, "the end of the update");
}

}  // namespace lockstep
