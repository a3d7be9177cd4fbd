#pragma once

#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// While it lives, the names of variables made on this thread begin with `name` and a slash, inside those of the scopes
/// around it. A step begins inside its caller's scopes, on replica r > 0 inside "replica_r" in these; a variable that
/// all replicas make together has replica 0's name. Scopes may end in any order, and on another thread; each removes
/// its own name.
class [[nodiscard]] NameScope {
 public:
  /// Throws InvalidArgument for an empty name.
  explicit NameScope(std::string name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  /// This scope's name, without those around it.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::shared_ptr<std::vector<const NameScope*>> open_scopes_;  // of the thread that made it, this one among them
};

/// The names of this thread's open scopes from the outermost on, "main/foo"; empty outside all of them.
std::string current_name_scope();
/// `name` inside the open scopes: "main/foo/v".
std::string scoped_name(const std::string& name);

/// A name without the "_1", "_2" that TensorFlow appends to make its parts unique: "foo_1/bar_2/baz" is "foo/bar/baz".
/// "Variable" for an empty one.
std::string canonical_name(const std::string& name);

}  // namespace lockstep
