#pragma once

#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// Until the scope ends, names of variables made on this thread have the prefix "name/", after the prefixes of the
/// enclosing scopes. A step runs inside the scopes of run()'s caller; on replica r > 0 it also runs inside a scope
/// "replica_r". A variable that all replicas make together has replica 0's name. Scopes may end in any order and on
/// another thread; each removes only its own name.
class [[nodiscard]] NameScope {
 public:
  /// Throws InvalidArgument for an empty name.
  explicit NameScope(std::string name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  /// This scope's name, without the names of the enclosing scopes.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::shared_ptr<std::vector<const NameScope*>> open_scopes_;  // scopes of the thread that made it, including this one
};

/// The names of this thread's open scopes, outermost first: "main/foo". Empty if there are none.
std::string current_name_scope();
/// `name` prefixed with the open scopes: "main/foo/v".
std::string scoped_name(const std::string& name);

/// Removes the suffixes such as "_1" with which TensorFlow makes the parts of a name unique: "foo/bar/baz" for
/// "foo_1/bar_2/baz". Returns "Variable" for an empty name.
std::string canonical_name(const std::string& name);

}  // namespace lockstep
