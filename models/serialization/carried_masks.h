#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/serialization/parsed_model.h>

namespace lockstep {

/// Compares the masks that a model's file gives to calls of layers with the masks that the calls' inputs carry in a
/// network, and finds those that the network must be given. For the comparison, a mask is represented as a formula of
/// the results from which it is computed.
class CarriedMasks {
 public:
  /// Returns the symbol of a result; null if it does not exist yet.
  using Find = std::function<const Symbol*(const ParsedReference&)>;
  using Operations = std::set<const ParsedLayer*>;  ///< operations of the file

  /// The masks that a call must be given because they are not those that its inputs carry.
  struct Given {
    std::vector<std::optional<ParsedReference>> masks{};  ///< by input, as CallMasks; empty if there are none
    std::optional<int> of_first{};                        ///< number of the first input's mask, if the result gets it
  };

  /// Records the masks of the results of a layer's call. `has_named_mask`: see ParsedCall; `given`: Given::of_first.
  void note(const ParsedLayer& layer, bool has_named_mask, std::optional<int> given, const std::vector<Symbol>& inputs,
            const std::vector<Symbol>& results);
  /// The masks that the call must be given. Throws InputError for masks that it cannot be given, and if it would read
  /// the mask of a Softmax with a named mask, which the result has in Keras alone. For a call that would read the mask
  /// of an operation's result, it only extends to_keep(). `operations`: see SeparatedMasks::operations; may be null.
  /// Precondition: the results in ParsedCall::mask_sources exist.
  Given masks_of_call(const ParsedLayer& layer, const ParsedCall& call, const std::vector<Symbol>& inputs,
                      const nlohmann::ordered_json* operations, const Find& find);
  /// The same for an output of the model, which would have such a mask.
  void check_output(const Symbol& output);
  /// The operations that were loaded as layers, which pass masks on, though a call or an output would get the mask of
  /// the result, which has none in Keras.
  const Operations& to_keep() const { return to_keep_; }

 private:
  /// A mask as a function of other masks. Equal masks have the same number. The number 0 means that there is no mask.
  struct Formula {
    std::string name{};
    std::vector<int> of{};
    int rank = 0;
    Operations dropped_by{};  ///< the operations from which it comes; Keras drops the mask there
    bool is_named = false;    ///< whether a Softmax is given the mask by name, which only Keras' result then has
  };

  struct Reading;  ///< state of reading a call's arguments

  int make(Formula formula);
  int not_equal(const Symbol& x, const nlohmann::ordered_json& value);
  int either(const std::vector<int>& masks);
  int concat(int axis, const std::vector<int>& masks);
  int expand(int mask);
  int any(int mask);
  int ones_like(const Symbol& x) { return make({.name = "ones", .rank = x.shape().rank() + 1}); }
  int carried(const Symbol& symbol) const;
  bool reads_dropped(const Symbol& symbol);
  int joined(const ParsedLayer& layer, const std::vector<Symbol>& inputs);
  int unknown() { return make({.name = fmt::format("unknown {}", formulas_.size())}); }
  int named(const nlohmann::ordered_json& value, Reading& reading, int depth);
  int computed(const nlohmann::ordered_json& operation, Reading& reading, int depth);

  std::map<std::pair<std::string, std::vector<int>>, int> numbers_;
  std::vector<Formula> formulas_{{}};
  std::map<int, int> any_;
  std::map<std::uint64_t, int> carried_;  ///< number of the mask of a symbol, by Symbol::Node::number
  Operations to_keep_;
};

}  // namespace lockstep
