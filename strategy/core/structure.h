#pragma once

#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/core/per_replica.h>

// Nested structures of values (vectors, maps, pairs, tuples). `Strategy::run` selects each replica's part of the
// arguments and converts the replicas' results to one structure with a PerReplica at each leaf. Every other type is a
// leaf, including Variable, which stands for all of its copies. For the members of a struct, use
// `PerReplica::transform`.

namespace lockstep {

/// The argument with each PerReplica in it replaced by the value of replica `replica`.
template <class T>
decltype(auto) value_for_replica(const T& value, int replica);
/// Number of replicas that an argument has values for; 0 if it contains no PerReplica. Throws InvalidArgument if it
/// contains PerReplica of different sizes.
template <class T>
int replicas_of(const T& value);

namespace detail {

template <class T>
struct OverReplicas {  // a leaf that all replicas share
  static constexpr bool varies = false;
  static const T& select(const T& value, int) { return value; }
  static int count(const T&) { return 0; }
};

template <class T>
struct OverReplicas<PerReplica<T>> {
  static constexpr bool varies = true;
  static const T& select(const PerReplica<T>& value, int replica) { return value[replica]; }
  static int count(const PerReplica<T>& value) { return value.size(); }
};

inline int common_count(int so_far, int next) {
  require(so_far == 0 || next == 0 || so_far == next, "one argument holds values for {} and for {} replicas", so_far,
          next);
  return next == 0 ? so_far : next;
}

template <class T>
struct OverReplicas<std::vector<T>> {
  static constexpr bool varies = OverReplicas<T>::varies;
  static decltype(auto) select(const std::vector<T>& value, int replica) {
    if constexpr (!varies) {
      return (value);
    } else {
      std::vector<std::decay_t<decltype(value_for_replica(value.front(), 0))>> own;
      for (const T& element : value) own.push_back(value_for_replica(element, replica));
      return own;
    }
  }
  static int count(const std::vector<T>& value) {
    int count = 0;
    if constexpr (varies)
      for (const T& element : value) count = common_count(count, replicas_of(element));
    return count;
  }
};

template <class Key, class T>
struct OverReplicas<std::map<Key, T>> {
  static constexpr bool varies = OverReplicas<T>::varies;
  static decltype(auto) select(const std::map<Key, T>& value, int replica) {
    if constexpr (!varies) {
      return (value);
    } else {
      std::map<Key, std::decay_t<decltype(value_for_replica(std::declval<const T&>(), 0))>> own;
      for (const auto& [key, element] : value) own.emplace(key, value_for_replica(element, replica));
      return own;
    }
  }
  static int count(const std::map<Key, T>& value) {
    int count = 0;
    if constexpr (varies)
      for (const auto& [key, element] : value) count = common_count(count, replicas_of(element));
    return count;
  }
};

template <class A, class B>
struct OverReplicas<std::pair<A, B>> {
  static constexpr bool varies = OverReplicas<A>::varies || OverReplicas<B>::varies;
  static decltype(auto) select(const std::pair<A, B>& value, int replica) {
    if constexpr (!varies)
      return (value);
    else
      return std::make_pair(value_for_replica(value.first, replica), value_for_replica(value.second, replica));
  }
  static int count(const std::pair<A, B>& value) {
    return common_count(replicas_of(value.first), replicas_of(value.second));
  }
};

template <class... T>
struct OverReplicas<std::tuple<T...>> {
  static constexpr bool varies = (OverReplicas<T>::varies || ...);
  static decltype(auto) select(const std::tuple<T...>& value, int replica) {
    if constexpr (!varies) {
      return (value);
    } else {
      return std::apply(
          [&](const T&... elements) {
            return std::tuple<std::decay_t<decltype(value_for_replica(elements, 0))>...>(
                value_for_replica(elements, replica)...);
          },
          value);
    }
  }
  static int count(const std::tuple<T...>& value) {
    int count = 0;
    std::apply([&](const T&... elements) { ((count = common_count(count, replicas_of(elements))), ...); }, value);
    return count;
  }
};

/// Implements regroup(). The primary template handles leaves.
template <class T>
struct Regroup {
  static PerReplica<T> regroup(const PerReplica<T>& values) { return values; }
};

template <class T>
struct Regroup<std::vector<T>> {
  static auto regroup(const PerReplica<std::vector<T>>& values) {
    const std::size_t size = values[0].size();
    for (int replica = 1; replica < values.size(); ++replica)
      require(values[replica].size() == size,
              "the replicas' results differ in structure: a list of {} on replica 0, of {} on replica {}", size,
              values[replica].size(), replica);
    std::vector<decltype(Regroup<T>::regroup(std::declval<PerReplica<T>>()))> result;
    for (std::size_t i = 0; i < size; ++i)
      result.push_back(Regroup<T>::regroup(values.transform([i](const std::vector<T>& list) { return list[i]; })));
    return result;
  }
};

template <class Key, class T>
struct Regroup<std::map<Key, T>> {
  static auto regroup(const PerReplica<std::map<Key, T>>& values) {
    for (int replica = 1; replica < values.size(); ++replica) {
      bool same = values[replica].size() == values[0].size();
      for (const auto& [key, value] : values[0]) same = same && values[replica].contains(key);
      require(same, "the replicas' results differ in structure: the maps of replicas 0 and {} have different keys",
              replica);
    }
    std::map<Key, decltype(Regroup<T>::regroup(std::declval<PerReplica<T>>()))> result;
    for (const auto& [key, value] : values[0])
      result.emplace(key,
                     Regroup<T>::regroup(values.transform([&](const std::map<Key, T>& map) { return map.at(key); })));
    return result;
  }
};

template <class A, class B>
struct Regroup<std::pair<A, B>> {
  static auto regroup(const PerReplica<std::pair<A, B>>& values) {
    return std::make_pair(
        Regroup<A>::regroup(values.transform([](const std::pair<A, B>& pair) { return pair.first; })),
        Regroup<B>::regroup(values.transform([](const std::pair<A, B>& pair) { return pair.second; })));
  }
};

template <class... T>
struct Regroup<std::tuple<T...>> {
  static auto regroup(const PerReplica<std::tuple<T...>>& values) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return std::make_tuple(
          Regroup<T>::regroup(values.transform([](const std::tuple<T...>& tuple) { return std::get<i>(tuple); }))...);
    }
    (std::index_sequence_for<T...>());
  }
};

}  // namespace detail

template <class T>
decltype(auto) value_for_replica(const T& value, int replica) {
  return detail::OverReplicas<T>::select(value, replica);
}

template <class T>
int replicas_of(const T& value) {
  return detail::OverReplicas<T>::count(value);
}

class ReplicaGroup;

/// Called by `Strategy::run` with each argument after a step that all replicas completed. By default does nothing.
template <class T>
void after_step(const T&, const ReplicaGroup&) {}

/// Turns one structure per replica into one structure of PerReplica leaves: {a, {b}} of each replica becomes
/// {PerReplica a, {PerReplica b}}. Throws InvalidArgument, naming the two replicas, if lengths or keys differ between
/// replicas.
template <class T>
auto regroup(const PerReplica<T>& values) {
  return detail::Regroup<T>::regroup(values);
}

}  // namespace lockstep
