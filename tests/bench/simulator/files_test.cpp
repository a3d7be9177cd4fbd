#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/temporary_folder.h>

#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::simulation {
namespace {

using Json = nlohmann::json;

class Files : public testing::Test {
 protected:
  std::string with_text(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  std::string written(const Json& json) { return with_text(json.dump()); }

  Json machine_{{"name", "two"},
                {"source", "this test"},
                {"devices_per_node", 2},
                {"inside", {{"latency_us", 3}, {"gigabytes_per_s", 4}}},
                {"network", {{"latency_us", 5}, {"gigabytes_per_s", 0.5}}}};
  Json step_{{"name", "one"},
             {"source", "this test"},
             {"forward_ms", 10},
             {"backward", {{{"name", "a"}, {"ms", 20}, {"gradient_bytes", 400}}}}};

 private:
  test::TemporaryFolder folder_;
  std::string file_ = folder_ / "file.json";
};

TEST_F(Files, GiveMachines) {
  const Machine plain = read_machine(written(machine_));
  EXPECT_EQ(plain.name, "two");
  EXPECT_EQ(plain.source, "this test");
  EXPECT_EQ(plain.devices_per_node, 2);
  EXPECT_DOUBLE_EQ(plain.inside.latency_s, 3e-6);
  EXPECT_DOUBLE_EQ(plain.inside.bytes_per_s, 4e9);
  EXPECT_DOUBLE_EQ(plain.network.latency_s, 5e-6);
  EXPECT_DOUBLE_EQ(plain.network.bytes_per_s, 5e8);
  EXPECT_EQ(plain.start_s + plain.message_s + plain.slowdown, 0);

  machine_.update({{"start_us", 6}, {"message_us", 7}, {"slowdown", 0.25}});
  const Machine full = read_machine(written(machine_));
  EXPECT_DOUBLE_EQ(full.start_s, 6e-6);
  EXPECT_DOUBLE_EQ(full.message_s, 7e-6);
  EXPECT_DOUBLE_EQ(full.slowdown, 0.25);

  machine_["devices_per_node"] = 1;
  EXPECT_ERROR(InputError, "unknown field 'inside'", read_machine(written(machine_)));
  machine_.erase("inside");
  EXPECT_EQ(read_machine(written(machine_)).devices_per_node, 1);
}

TEST_F(Files, GiveSteps) {
  step_.update({{"update_ms", 2}, {"overhead_ms", 3}});
  const MeasuredStep step = read_step(written(step_));
  EXPECT_EQ(step.name, "one");
  EXPECT_EQ(step.source, "this test");
  EXPECT_DOUBLE_EQ(step.forward_s, 0.01);
  ASSERT_EQ(step.backward.size(), 1u);
  EXPECT_EQ(step.backward[0].name, "a");
  EXPECT_DOUBLE_EQ(step.backward[0].seconds, 0.02);
  EXPECT_EQ(step.backward[0].gradient_bytes, 400);
  EXPECT_DOUBLE_EQ(step_on_one_device_s(step), 0.035);
}

TEST_F(Files, NameWhatIsWrong) {
  EXPECT_ERROR(InputError, "missing.json: cannot be read", read_machine("missing.json"));
  EXPECT_ERROR(InputError, "file.json: not JSON at byte 2", read_step(with_text("{,}")));
  EXPECT_ERROR(InputError, "file.json: a number is too large", read_step(with_text("1e999")));
  EXPECT_ERROR(InputError, "file.json: must be an object", read_machine(with_text("[]")));

  const auto machine = [&](const char* text, const Json& change) {
    Json wrong = machine_;
    wrong.merge_patch(change);
    EXPECT_ERROR(InputError, text, read_machine(written(wrong)));
  };
  machine("file.json: no field 'network'", {{"network", nullptr}});
  machine("file.json: network: no field 'latency_us'", {{"network", {{"latency_us", nullptr}}}});
  machine("file.json: inside: must be an object", {{"inside", 3}});
  machine("file.json: inside: 'latency_us' must be a number", {{"inside", {{"latency_us", "3"}}}});
  machine("file.json: inside: unknown field 'colour'", {{"inside", {{"colour", 1}}}});
  machine("file.json: 'name' must be a text", {{"name", 1}});
  machine("file.json: 'devices_per_node' must be a whole number", {{"devices_per_node", 1.5}});
  machine("file.json: 'devices_per_node' must be 1 to 1048576, got 0", {{"devices_per_node", 0}});
  machine("file.json: 'devices_per_node' must be 1 to", {{"devices_per_node", 5000000000}});
  machine("file.json: unknown field 'start_ms'", {{"start_ms", 1}});
  machine("file.json: network: bandwidth must be positive", {{"network", {{"gigabytes_per_s", 0}}}});

  const auto step = [&](const char* text, const Json& change) {
    Json wrong = step_;
    wrong.merge_patch(change);
    EXPECT_ERROR(InputError, text, read_step(written(wrong)));
  };
  step("file.json: no field 'forward_ms'", {{"forward_ms", nullptr}});
  step("file.json: 'backward' must list the layers", {{"backward", Json::array()}});
  step("file.json: backward[0]: no field 'name'", {{"backward", {Json::object()}}});
  step("file.json: forward: must not be negative", {{"forward_ms", -1}});
}

}  // namespace
}  // namespace lockstep::simulation
