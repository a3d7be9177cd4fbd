// Alpha-beta models: a message of n bytes takes alpha + n beta. p devices in k nodes of d, n bytes in all.
//
// - R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", 2005: an
//   all-reduce is a reduce-scatter and an all-gather; each moves (p-1)/p n through every link, in p-1 messages on a
//   ring. Their gamma, the time of the additions, is not counted: it is hidden behind, or part of, the links' measured
//   bandwidth.
// - P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009:
//   the double binary tree.
// - NCCL, src/graph/tuning.cc: latencies inside and between nodes add up, 2(k-1) of a ring's 2(p-1) hops lie between
//   nodes, a tree has chains inside the nodes, and each collective has a constant share.

#include <algorithm>
#include <bit>
#include <cmath>

#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::simulation {
namespace {

struct Layout {
  int nodes;     ///< k
  int per_node;  ///< d
};

Layout layout_of(const Machine& machine, int devices) {
  require(devices >= 1, "devices: at least 1, got {}", devices);
  if (devices <= machine.devices_per_node) return {1, devices};
  require(devices % machine.devices_per_node == 0, "devices: {} do not fill nodes of {}", devices,
          machine.devices_per_node);
  return {devices / machine.devices_per_node, machine.devices_per_node};
}

/// Reduce-scatter and all-gather of `bytes` in a ring of `members`.
Cost ring(int members, double bytes, const Link& link) {
  if (members == 1) return {};
  return {2.0 * (members - 1) * link.latency_s, 2.0 * (members - 1) / members * bytes / link.bytes_per_s};
}

/// 2(p-k) hops inside nodes and 2(k-1) between them. Each node has one incoming and one outgoing flow, so the slower
/// kind of link determines the bandwidth.
Cost flat_ring(const Machine& machine, Layout layout, double bytes) {
  if (layout.nodes == 1) return ring(layout.per_node, bytes, machine.inside);
  if (layout.per_node == 1) return ring(layout.nodes, bytes, machine.network);
  const int devices = layout.nodes * layout.per_node;
  const double inside = 2.0 * (devices - layout.nodes) * machine.inside.latency_s;
  const double between = 2.0 * (layout.nodes - 1) * machine.network.latency_s;
  const double pace = std::min(machine.inside.bytes_per_s, machine.network.bytes_per_s);
  return {inside + between, 2.0 * (devices - 1) / devices * bytes / pace};
}

/// Half of the bytes go up and down each of the two trees, in a pipeline; the time to fill it is not counted. A node
/// has up to three neighbors in the tree where it is an inner node and one in the other, and sends n/2 to each: 2n from
/// four nodes on. A device inside a chain also sends n each way.
Cost double_tree(const Machine& machine, Layout layout, double bytes) {
  Cost cost;
  if (layout.per_node > 1) {
    cost.latency_s = 2.0 * (layout.per_node - 1) * machine.inside.latency_s;
    cost.bandwidth_s = std::min(layout.per_node - 1, 2) * bytes / machine.inside.bytes_per_s;
  }
  if (layout.nodes > 1) {
    const int height = std::bit_width(static_cast<unsigned>(layout.nodes - 1));  // log2, rounded up
    cost.latency_s += 2.0 * height * machine.network.latency_s;
    const double between = std::min(layout.nodes, 4) / 2.0 * bytes / machine.network.bytes_per_s;
    cost.bandwidth_s = std::max(cost.bandwidth_s, between);
  }
  return cost;
}

/// Every node sends its part directly to each other node, for the reduce-scatter and again for the all-gather: as many
/// bytes as a ring, but only two latencies. Each message also takes its sender's processor time.
Cost direct(int nodes, double bytes, const Machine& machine) {
  if (nodes == 1) return {};
  Cost cost = ring(nodes, bytes, machine.network);
  cost.latency_s = 2.0 * machine.network.latency_s + 2.0 * (nodes - 1) * machine.message_s;
  return cost;
}

/// Each of a node's d devices sums its part, n/d, with those of other nodes, all at the same time: n bytes pass through
/// the node's link.
Cost in_two_levels(const Machine& machine, Layout layout, double bytes, bool directly) {
  const Cost inside = ring(layout.per_node, bytes, machine.inside);
  const Cost between = directly ? direct(layout.nodes, bytes, machine) : ring(layout.nodes, bytes, machine.network);
  return {inside.latency_s + between.latency_s, inside.bandwidth_s + between.bandwidth_s};
}

Cost cost_of(AllReduce algorithm, const Machine& machine, Layout layout, double bytes) {
  switch (algorithm) {
    case AllReduce::ring:
      return flat_ring(machine, layout, bytes);
    case AllReduce::tree:
      return double_tree(machine, layout, bytes);
    case AllReduce::hierarchical:
      return in_two_levels(machine, layout, bytes, false);
    case AllReduce::exchange:
      return in_two_levels(machine, layout, bytes, true);
  }
  fail<BrokenInvariant>("no such algorithm");
}

void validate_link(const Link& link, std::string_view what) {
  require(std::isfinite(link.latency_s) && link.latency_s >= 0, "{}: latency must not be negative, got {} s", what,
          link.latency_s);
  require(std::isfinite(link.bytes_per_s) && link.bytes_per_s > 0, "{}: bandwidth must be positive, got {} bytes/s",
          what, link.bytes_per_s);
}

}  // namespace

std::string_view name(AllReduce algorithm) {
  switch (algorithm) {
    case AllReduce::ring:
      return "ring";
    case AllReduce::tree:
      return "tree";
    case AllReduce::hierarchical:
      return "hierarchical";
    case AllReduce::exchange:
      return "exchange";
  }
  fail<BrokenInvariant>("no such algorithm");
}

void validate(const Machine& machine) {
  require(machine.devices_per_node >= 1, "devices_per_node: at least 1, got {}", machine.devices_per_node);
  if (machine.devices_per_node > 1) validate_link(machine.inside, "inside");
  validate_link(machine.network, "network");
  require(std::isfinite(machine.start_s) && machine.start_s >= 0, "start: must not be negative, got {} s",
          machine.start_s);
  require(std::isfinite(machine.message_s) && machine.message_s >= 0, "message: must not be negative, got {} s",
          machine.message_s);
  require(machine.slowdown >= 0 && machine.slowdown < 1, "slowdown: a share from 0 to below 1, got {}",
          machine.slowdown);
}

Cost all_reduce_cost(AllReduce algorithm, const Machine& machine, int devices, double bytes) {
  validate(machine);
  require(std::isfinite(bytes) && bytes >= 0, "bytes: must not be negative, got {}", bytes);
  const Layout layout = layout_of(machine, devices);
  if (devices == 1) return {};
  Cost cost = cost_of(algorithm, machine, layout, bytes);
  cost.latency_s += machine.start_s;
  return cost;
}

}  // namespace lockstep::simulation
