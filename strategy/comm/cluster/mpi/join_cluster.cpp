#include <algorithm>

#include <fmt/ranges.h>

#include <lockstep/strategy/comm/cluster/cluster_spec.h>
#include <lockstep/strategy/comm/cluster/launcher.h>
#include <lockstep/strategy/comm/cluster/mpi/mpi_cluster.h>

namespace lockstep {
namespace {

/// The command that starts the workers named in TF_CONFIG.
std::string command_for(const ClusterSpec& spec) {
  std::vector<std::string> hosts;
  for (const std::string& address : spec.addresses) hosts.push_back(address.substr(0, address.find(':')));
  return fmt::format("mpirun -np {} -H {}", spec.size(), fmt::join(hosts, ","));
}

}  // namespace

std::shared_ptr<Cluster> join_cluster(const ClusterOptions& given) {
  const ClusterOptions options = given.checked();
  const std::optional<ClusterSpec> spec = tf_config();
  if (!launched_with_others()) {
    require(!spec || spec->size() == 1,
            "TF_CONFIG names {} workers, and this process was started alone: start all of them with {}",
            spec ? spec->size() : 0, spec ? command_for(*spec) : "");
    return nullptr;
  }
  const std::shared_ptr<MpiLibrary> library = MpiLibrary::instance();
  require(!spec || spec->size() == library->processes(), "TF_CONFIG names {} workers, and {} processes were started",
          spec ? spec->size() : 0, library->processes());
  const MPI_Comm workers = library->communicator(spec ? spec->rank : library->rank(), options.timeout);
  auto cluster = std::make_shared<MpiCluster>(library, workers, options);
  cluster->agree("the start", "the version of lockstep is", LOCKSTEP_VERSION);
  cluster->agree("the start", "the longest wait is", fmt::format("{} ms", options.timeout.count()));
  const std::vector<std::string> tasks = cluster->all_gather("the start", spec ? fmt::format("{}", spec->rank) : "");
  const bool any = std::ranges::any_of(tasks, [](const std::string& task) { return !task.empty(); });
  for (int worker = 0; any && worker < cluster->size(); ++worker)
    if (const std::string& task = tasks[static_cast<std::size_t>(worker)]; task != fmt::format("{}", worker))
      throw_together("TF_CONFIG has to number the workers: of {} processes one says that it is {}", cluster->size(),
                     task.empty() ? "none of them" : "number " + task + ", as another does");
  return cluster;
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");  // allowed before MPI_Init
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace lockstep
