#include "lockstep/strategy/comm/cluster/cluster.h"

#include <algorithm>

#include <lockstep/runtime/thread/wait_timer.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {
namespace {

/// The largest number of bytes that the chief broadcasts by one message to each worker. Of more bytes, it sends a part
/// to each worker, and the workers exchange their parts.
constexpr std::size_t one_message = 4096;

/// An empty span for each worker.
template <class Byte>
std::vector<std::span<Byte>> nothing(int workers) {
  return std::vector<std::span<Byte>>(static_cast<std::size_t>(workers));
}

bool is_on_all_workers(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& thrown) {
    return thrown.is_on_all_workers();
  } catch (...) {
    return false;
  }
}

}  // namespace

ClusterOptions ClusterOptions::checked() const {
  require(timeout.count() > 0 && silence_limit.count() > 0,
          "the longest wait and silence of workers must be positive, got {} ms and {} ms", timeout.count(),
          silence_limit.count());
  ClusterOptions limited = *this;
  for (std::chrono::milliseconds* const time : {&limited.timeout, &limited.silence_limit})
    *time = std::min<std::chrono::milliseconds>(*time, longest_timeout);
  return limited;
}

void Cluster::notify_of(const std::exception_ptr& error, std::string_view prefix) {
  if (!is_on_all_workers(error)) fail_all(fmt::format("{}{}", prefix, message_of(error)));
}

void Cluster::broadcast(std::string_view place, std::span<std::byte> bytes) {
  // Many bytes take two steps, so that the chief sends most bytes only once: it sends a part to each worker, and then
  // all workers exchange their parts.
  const bool in_parts = bytes.size() > one_message;
  const auto part = [&](int worker) {
    if (!in_parts) return bytes;
    const FlatRange shard = shard_of({0, static_cast<std::int64_t>(bytes.size())}, worker, size());
    return bytes.subspan(static_cast<std::size_t>(shard.begin), static_cast<std::size_t>(shard.end - shard.begin));
  };
  auto to = nothing<const std::byte>(size());
  auto from = nothing<std::byte>(size());
  if (is_chief())
    for (int worker = 0; worker < size(); ++worker) to[static_cast<std::size_t>(worker)] = part(worker);
  else
    from[0] = part(rank());
  exchange(place, to, from);
  if (!in_parts) return;
  to = nothing<const std::byte>(size());
  from = nothing<std::byte>(size());
  for (int worker = 1; worker < size(); ++worker) {  // the chief has all bytes and passes on only its own part
    if (is_chief()) to[static_cast<std::size_t>(worker)] = part(0);
    if (!is_chief()) to[static_cast<std::size_t>(worker)] = part(rank());
    if (!is_chief()) from[static_cast<std::size_t>(worker)] = part(worker);
  }
  if (!is_chief()) from[0] = part(0);
  exchange(place, to, from);
}

void Cluster::report(std::string_view why) {
  try {
    all_gather(report_place, why.substr(0, why.find('\n')));  // only one line, as in fail_all
  } catch (const InvalidArgument&) {  // for the other workers: the caller throws an error of its own
    return;
  }
}

void Cluster::agree(std::string_view place, std::string_view what, std::string_view own, Channel channel) {
  const std::vector<std::string> all = all_gather(place, own, channel);
  for (int worker = 1; worker < size(); ++worker)
    if (const std::string& other = all[static_cast<std::size_t>(worker)]; other != all.front())
      throw_together("{} {} on {} and {} on {}: all workers must run the same program with the same options", what,
                     all.front(), name_of(0), other, name_of(worker));
}

}  // namespace lockstep
