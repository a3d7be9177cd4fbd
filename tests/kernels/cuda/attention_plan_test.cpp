// cuDNN plans of attention for described GPUs. cuDNN compiles their kernels and loads them with the pretended driver
// (support/pretend_driver). Nothing is computed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kernels/cuda/described_gpus.h>
#include <support/errors.h>
#include <support/temporary_folder.h>

#include <lockstep/kernels/cuda/attention_plan.h>
#include <lockstep/kernels/cuda/tuned_plan.h>

namespace lockstep::test {
namespace {

using cudnn::AttentionPlan;
using cudnn::FusedAttention;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Attended {
  const char* name;
  std::int64_t batch, queries, keys, heads, key_heads, size;
  bool is_causal = false;
  bool is_padded = false;
  float dropout_rate = 0;
  std::int64_t value_size = size;
};

FusedAttention attention_of(const Attended& a, bool gradient) {
  const Tensor query = Tensor::empty({a.batch, a.queries, a.heads, a.size}, DType::bf16);
  const Tensor key = Tensor::empty({a.batch, a.keys, a.key_heads, a.size}, DType::bf16);
  const Tensor value = Tensor::empty({a.batch, a.keys, a.key_heads, a.value_size}, DType::bf16);
  const Tensor dy = Tensor::empty({a.batch, a.queries, a.heads, a.value_size}, DType::bf16);
  const Tensor bias =
      a.is_padded ? cudnn::empty_bias(Tensor::empty({a.batch, 1, 1, a.keys}, DType::boolean)) : Tensor();
  const kernels::AttentionRule rule{
      .scale = 0.125F, .is_causal = a.is_causal, .mask = {}, .dropout_rate = a.dropout_rate, .key = {}};
  return {rule, query, key, value, bias, gradient ? dy : Tensor()};
}

const Attended vit_b{"ViT-B", 8, 197, 197, 12, 12, 64};
const Attended gpt{"GPT", 8, 1024, 1024, 12, 12, 64, true};
const Attended groups{"groups", 8, 1024, 1024, 8, 2, 64, true};
const Attended cross{"cross attention", 8, 128, 301, 8, 8, 64, false, true};

Attended with_dropout(Attended a) {
  a.dropout_rate = 0.1F;
  return a;
}

/// As in kernels/attention_dropout_test.cpp.
const Attended tested_with_dropout{"dropout", 2, 48, 96, 4, 2, 64, true, true, 0.3F, 96};

AttentionPlan plan_for(const GpuFigures& gpu, const Attended& a, bool gradient) {
  return {attention_of(a, gradient), described(gpu)};
}

/// Number of scores, with times rounded up to whole tiles of cuDNN's kernels.
std::int64_t scores_of(const Attended& a) {
  const auto in_tiles = [](std::int64_t time) { return (time + 127) / 128 * 128; };
  return a.batch * a.heads * in_tiles(a.queries) * in_tiles(a.keys);
}

class CudnnAttention : public ::testing::TestWithParam<GpuFigures> {};

TEST_P(CudnnAttention, HasPlansForBothPasses) {
  for (const Attended& a : {vit_b, gpt, groups, cross, with_dropout(vit_b), with_dropout(gpt), with_dropout(groups),
                            with_dropout(cross), tested_with_dropout})
    for (const bool gradient : {false, true}) {
      SCOPED_TRACE(attention_of(a, gradient).text());
      // For compute capability 10.0, cuDNN 9.19 cannot compile its deterministic gradient with a bias, and has none
      // with dropout.
      if (gradient && (a.is_padded || a.dropout_rate > 0) && GetParam().compute_capability == 100) continue;
      try {
        const AttentionPlan made = plan_for(GetParam(), a, gradient);
        EXPECT_LE(made.workspace_bytes(), (gradient ? 2 * scores_of(a) : 0) + (32 << 20));
        EXPECT_FALSE(made.engine().empty());
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnAttention, ::testing::ValuesIn(gpu_figures()), [](const auto& info) {
  return fmt::format("ComputeCapability{}", info.param.compute_capability);
});

/// The plan for one of the GPUs; compiling takes long.
AttentionPlan plan(const Attended& a, bool gradient) { return plan_for(gpu_figures()[1], a, gradient); }

/// Type, sizes and strides of the graph's first tensor whose name begins with `name`, as in its JSON.
std::string tensor(const std::string& graph, const std::string& name) {
  const std::size_t named = graph.find("\"name\":\"" + name);
  if (named == std::string::npos) return "no " + name + " in " + graph;
  const std::string type = "\"data_type\":";
  const std::size_t begin = graph.rfind(type, named) + type.size();
  const std::string strides = "\"stride\":";
  const std::size_t stride = graph.find(strides, named) + strides.size();
  return graph.substr(begin, graph.find(",\"is_pass", begin) - begin) + " " +
         graph.substr(stride, graph.find(']', stride) + 1 - stride);
}

TEST(CudnnAttentionPlan, IsDescribedAsItIs) {
  const std::string masked = plan(cross, false).graph();
  EXPECT_THAT(masked, AllOf(HasSubstr(R"("generate_stats":true)"), HasSubstr(R"("right_bound":null)"),
                            HasSubstr(R"("padding_mask":false)"), HasSubstr(R"("dropout_probability":null)"),
                            HasSubstr(R"("attn_scale_value":"3E000000")")));  // 0.125F
  EXPECT_EQ(tensor(masked, "bias_add"), R"("BFLOAT16","dim":[8,1,128,301] [304,304,0,1])");
  EXPECT_EQ(tensor(masked, "bmm1::A"), R"("BFLOAT16","dim":[8,8,128,64] [65536,64,512,1])");
  EXPECT_EQ(tensor(masked, "bmm1::B"), R"("BFLOAT16","dim":[8,8,64,301] [154112,64,1,512])");
  EXPECT_EQ(tensor(masked, "::O"), R"("BFLOAT16","dim":[8,8,128,64] [65536,64,512,1])");
  EXPECT_EQ(tensor(masked, "::Stats"), R"("FLOAT","dim":[8,8,128,1] [1024,128,1,1])");

  for (const bool of_gradient : {false, true}) {
    const std::string drops = plan(with_dropout(gpt), of_gradient).graph();
    EXPECT_THAT(drops, AllOf(HasSubstr(R"("dropout_probability":"3DCCCCCD")"),  // 0.1F
                             HasSubstr(R"("Seed":13)"), HasSubstr(R"("Offset":14)"),
                             HasSubstr(R"({"data_type":"INT64","dim":[1,1,1,1],"is_pass_by_value":false)")));
  }

  const std::string gradient = plan(groups, true).graph();
  EXPECT_THAT(gradient, AllOf(HasSubstr(R"("is_deterministic_algorithm":true)"), HasSubstr(R"("right_bound":0)"),
                              HasSubstr(R"("diagonal_alignment":"TOP_LEFT")"), Not(HasSubstr("bias"))));
  EXPECT_EQ(tensor(gradient, "::dQ"), R"("BFLOAT16","dim":[8,8,1024,64] [524288,64,512,1])");
  EXPECT_EQ(tensor(gradient, "::dK"), R"("BFLOAT16","dim":[8,2,1024,64] [131072,64,128,1])");
  EXPECT_EQ(tensor(gradient, "::dV"), R"("BFLOAT16","dim":[8,2,1024,64] [131072,64,128,1])");
}

TEST(CudnnAttentionPlan, IsCompiledOnceAndRestored) {
  const FusedAttention attention = attention_of(cross, true);
  const cudnn::DescribedGpu gpu = described(gpu_figures()[1]);
  const TemporaryFolder folder;
  int made = 0;
  const auto kept = [&] {
    cudnn::PlanCache cache(folder.path());
    return cudnn::kept_plan<AttentionPlan>(cache, "this GPU", attention, gpu, [&] {
      ++made;
      return AttentionPlan(attention, gpu);
    });
  };
  const AttentionPlan first = kept();
  const AttentionPlan again = kept();
  EXPECT_EQ(made, 1);
  EXPECT_FALSE(first.engine().empty());
  EXPECT_EQ(again.engine(), first.engine());
  EXPECT_EQ(again.workspace_bytes(), first.workspace_bytes());
  EXPECT_EQ(again.serialized(), first.serialized());
  EXPECT_FALSE(AttentionPlan::restored(attention, described(gpu_figures()[0]), first.serialized()));
  EXPECT_FALSE(AttentionPlan::restored(attention, gpu, {'a', '\n'}));
}

TEST(CudnnAttentionPlan, NamesWhatItDoesNotTake) {
  const Attended wide{"", 2, 64, 64, 4, 4, 520};
  const std::string text = attention_of(wide, true).text();
  EXPECT_THAT(error_of<Unsupported>([&] { plan(wide, true); }),
              AllOf(HasSubstr(fmt::format("cuDNN cannot run the {}: ", text)), Not(HasSubstr("\n"))));
  const Attended odd{"", 1, 77, 77, 2, 2, 64};
  EXPECT_THAT(error_of<Unsupported>([&] { plan(odd, true); }), HasSubstr("its workspace would not be aligned"));
}

}  // namespace
}  // namespace lockstep::test
