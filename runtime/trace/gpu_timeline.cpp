#include "lockstep/runtime/trace/gpu_timeline.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <cxxabi.h>
#include <fmt/format.h>

namespace lockstep {
namespace {

/// Demangles only names with the prefix of mangled names: the demangler reads others, such as "f" or "i", as types.
std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

/// The kernels of one GPU.
struct Kernels {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times{};  ///< begin and end of each, ns

  std::string summary() {
    std::ranges::sort(times);
    std::uint64_t busy = 0;
    std::uint64_t end = times.front().first;
    for (const auto& [from, to] : times) {
      if (to > end) busy += to - std::max(from, end);
      end = std::max(end, to);
    }
    const std::uint64_t span = end - times.front().first;
    const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-6; };
    return fmt::format("{} kernels, busy {:.3f} ms, gaps {:.3f} ms, span {:.3f} ms", times.size(), ms(busy),
                       ms(span - busy), ms(span));
  }
};

}  // namespace

std::uint32_t GpuTimeline::number_of(std::string_view name) {
  return numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(numbers_.size())).first->second;
}

void GpuTimeline::add(const GpuWork& work) {
  if (entries_.size() >= capacity_) return leave_out(1);
  entries_.push_back({work.start_ns, std::max(work.start_ns, work.end_ns), work.bytes, number_of(work.name), work.gpu,
                      work.stream, work.is_kernel});
}

std::uint64_t GpuTimeline::first_ns() const {
  const auto first = std::ranges::min_element(entries_, {}, &Entry::start_ns);
  return first == entries_.end() ? 0 : first->start_ns;
}

std::string GpuTimeline::summary() const {
  std::map<std::uint32_t, Kernels> by_gpu;
  for (const Entry& entry : entries_)
    if (entry.is_kernel) by_gpu[entry.gpu].times.emplace_back(entry.start_ns, entry.end_ns);
  if (by_gpu.empty()) return "no kernels";
  std::string text;
  for (auto& [gpu, kernels] : by_gpu)
    text += fmt::format("{}GPU {}: {}", text.empty() ? "" : "; ", gpu, kernels.summary());
  return text;
}

void GpuTimeline::add_to(ChromeTrace& trace, std::uint64_t origin_ns, int first_process) const {
  std::vector<std::string> names(numbers_.size());
  for (const auto& [name, number] : numbers_) names[number] = demangled(name);
  std::map<std::uint32_t, std::set<std::uint32_t>> rows;
  const auto us = [](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(static_cast<std::int64_t>(to - from)) * 1e-3;
  };
  for (const Entry& entry : entries_) {
    const int process = first_process + static_cast<int>(entry.gpu);
    rows[entry.gpu].insert(entry.stream);
    trace.add(names[entry.name], process, entry.stream, us(origin_ns, entry.start_ns), us(entry.start_ns, entry.end_ns),
              entry.is_kernel ? std::nullopt : std::optional(entry.bytes));
  }
  for (const auto& [gpu, streams] : rows) {
    trace.name_process(first_process + static_cast<int>(gpu), fmt::format("GPU {}", gpu));
    for (const std::uint32_t stream : streams)
      trace.name_row(first_process + static_cast<int>(gpu), stream, fmt::format("stream {}", stream));
  }
}

}  // namespace lockstep
