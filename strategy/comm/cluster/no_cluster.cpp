#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/cluster_spec.h>
#include <lockstep/strategy/comm/cluster/launcher.h>

namespace lockstep {

std::shared_ptr<Cluster> join_cluster(const ClusterOptions& options) {
  options.checked();
  const std::optional<ClusterSpec> spec = tf_config();
  require<Unsupported>(!launched_with_others() && (!spec || spec->size() == 1),
                       "this build of lockstep has no MPI, through which workers find each other: install Open MPI and "
                       "build it again with LOCKSTEP_MPI=ON");
  return nullptr;
}

std::string mpi_library() { return {}; }

}  // namespace lockstep
