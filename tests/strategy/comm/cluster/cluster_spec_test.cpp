#include <cstdlib>

#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/comm/cluster/cluster_spec.h>

namespace lockstep {
namespace {

TEST(ClusterSpec, ReadsWorkersAndTask) {
  const ClusterSpec spec =
      parse_tf_config(R"({"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})");
  EXPECT_EQ(spec.addresses, (std::vector<std::string>{"a:1", "b:1", "c:1"}));
  EXPECT_EQ(spec.rank, 1);
  EXPECT_EQ(spec.task_type(), "worker");
  EXPECT_EQ(spec.task_id(), 1);
}

TEST(ClusterSpec, AChiefComesFirst) {
  const char* const form =
      R"({{"cluster": {{"chief": ["c:1"], "worker": ["a:1", "b:1"]}}, "task": {{"type": "{}", "index": {}}}}})";
  const ClusterSpec chief = parse_tf_config(fmt::format(fmt::runtime(form), "chief", 0));
  EXPECT_EQ(chief.addresses, (std::vector<std::string>{"c:1", "a:1", "b:1"}));
  EXPECT_EQ(chief.rank, 0);
  EXPECT_EQ(chief.task_type(), "chief");
  const ClusterSpec worker = parse_tf_config(fmt::format(fmt::runtime(form), "worker", 1));
  EXPECT_EQ(worker.rank, 2);
  EXPECT_EQ(worker.task_type(), "worker");
  EXPECT_EQ(worker.task_id(), 1);
}

TEST(ClusterSpec, RefusesWhatIsNoTfConfig) {
  const char* const form = R"({{"cluster": {{{}}}, "task": {{"type": "{}", "index": {}}}}})";
  const auto parse = [&](const char* cluster, const char* type, int index) {
    return parse_tf_config(fmt::format(fmt::runtime(form), cluster, type, index));
  };
  const char* const one = R"("worker": ["a:1"])";
  EXPECT_ERROR(InvalidArgument, R"("cluster")", parse_tf_config("workers"));
  EXPECT_ERROR(InvalidArgument, R"("cluster")", parse_tf_config(R"({"cluster": {"worker": ["a:1"]}})"));
  EXPECT_ERROR(InvalidArgument, "worker 1, but names only 1", parse(one, "worker", 1));
  EXPECT_ERROR(InvalidArgument, "worker -1", parse(one, "worker", -1));
  for (const char* const index : {"4294967296", "18446744073709551616", "-4294967296", "0.7", "true", "\"0\""})
    EXPECT_ERROR(InvalidArgument, "TF_CONFIG must be like",
                 parse_tf_config(fmt::format(fmt::runtime(form), one, "worker", index)));
  EXPECT_ERROR(InvalidArgument, "chief 0, but names only 0", parse(one, "chief", 0));
  EXPECT_ERROR(InvalidArgument, "2 chiefs", parse(R"("chief": ["a:1", "b:1"])", "chief", 0));
  EXPECT_ERROR(Unsupported, "'ps'", parse(R"("worker": ["a:1"], "ps": ["b:1"])", "worker", 0));
  EXPECT_ERROR(Unsupported, "'evaluator'", parse(one, "evaluator", 0));
}

/// Sets TF_CONFIG during its lifetime.
class TfConfig {
 public:
  explicit TfConfig(const char* text) { ::setenv("TF_CONFIG", text, 1); }
  ~TfConfig() { ::unsetenv("TF_CONFIG"); }
};

TEST(ClusterSpec, AProcessAloneHasNoCluster) {
  EXPECT_FALSE(tf_config().has_value());
  EXPECT_EQ(join_cluster(), nullptr);
  const TfConfig one(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})");
  EXPECT_EQ(join_cluster(), nullptr);
}

TEST(ClusterSpec, AProcessAloneThatShouldHaveOthersSaysHowToStartThem) {
  const TfConfig two(R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})");
  const std::string message = test::error_of<Error>([] { join_cluster(); });
  EXPECT_THAT(message, testing::AnyOf(testing::HasSubstr("mpirun -np 2 -H a,b"), testing::HasSubstr("no MPI")));
}

}  // namespace
}  // namespace lockstep
