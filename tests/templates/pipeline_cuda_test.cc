// Templates with pipelines of asynchronous copies: correct in the SIMT emulator, which detects
// every inserted fault, and accepted by ptxas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/ir/visit.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/registry.h"
#include "src/templates/space_values.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"
#include "tests/templates/shared_bytes.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr int kStages = 3;

struct PipelineCase {
  const char* name;
  const char* key;
  const char* workload;
};

class PipelineCudaTest : public testing::TestWithParam<PipelineCase> {
 protected:
  Workload workload() const { return *Workload::Parse(GetParam().workload); }
  Target target() const { return *Target::Parse("cuda -arch=sm_80"); }
  const TemplateEntry& entry() const { return *BuiltInTemplates().Find(GetParam().key); }

  /// Returns the default config with the given knob values.
  Config ConfigWith(const std::vector<std::pair<std::string, std::int64_t>>& values) const {
    const auto space = *entry().define_space(workload(), target());
    const Config config = *entry().default_config(workload(), target());
    std::vector<std::pair<std::string, KnobValue>> all;
    for (const char* name : {"warps_m", "warps_n", "tiles_m", "tiles_n", "steps_k", "copy_bytes",
                             "stages", "pad_bytes", "auto_unroll_max_step"}) {
      std::int64_t value = config.Integer(name);
      for (const auto& [knob, given] : values) value = knob == name ? given : value;
      all.emplace_back(name, KnobValue{value});
    }
    return *LocateValues(space, all);
  }
  Result<Kernel> Apply(const Config& config) const {
    return entry().apply(workload(), Epilogue(), target(), config);
  }
  Program Pipelined() const {
    return *Lower(Apply(ConfigWith({{"steps_k", 1}, {"stages", kStages}}))->schedule, "kernel");
  }
  /// Runs the program and compares the result with the reference.
  Status Verify(const Program& program) const {
    const AnchorData data = MakeAnchorData(workload(), Epilogue(), 7);
    auto result =
        RunProgram(workload(), Epilogue(), target(), program, Apply(ConfigWith({}))->layouts, data);
    TW_RETURN_IF_ERROR(result);
    auto expected = EvaluateAnchor(workload(), Epilogue(), data.data, data.weight, {});
    TW_RETURN_IF_ERROR(expected);
    return Compare(*result, *expected).ok ? Status() : Internal("differs from the reference");
  }
};

TEST_P(PipelineCudaTest, EveryNumberOfStagesAndPaddingIsRight) {
  struct Knobs {
    std::int64_t stages, pad, bytes;
  };
  for (const auto& [stages, pad, bytes] :
       {Knobs{1, 16, 16}, Knobs{2, 0, 4}, Knobs{2, 32, 8}, Knobs{3, 16, 8}, Knobs{4, 0, 16}}) {
    const Config config =
        ConfigWith({{"steps_k", 1}, {"stages", stages}, {"pad_bytes", pad}, {"copy_bytes", bytes}});
    auto kernel = Apply(config);
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    auto program = Lower(kernel->schedule, "kernel");
    ASSERT_TRUE(program.ok()) << program.status().message();
    ExpectSharedBytes(kernel->schedule, *program);
    const Status verified = Verify(*program);
    EXPECT_TRUE(verified.ok()) << config.ToString() << ": " << verified.message();
  }
}

TEST_P(PipelineCudaTest, PtxCopiesAsynchronouslyAndPtxasTakesIt) {
  const Program program = Pipelined();
  auto ptx = Generate({program}, target(), Emit::kObject);
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  EXPECT_THAT(*ptx, HasSubstr("cp.async.cg.shared.global"));
  EXPECT_THAT(*ptx, HasSubstr("cp.async.commit_group"));
  EXPECT_THAT(*ptx, HasSubstr("cp.async.wait_group 1;"));
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas on this machine";
  for (const int capability : {80, 90}) {
    EXPECT_TRUE(RunPtxas(ptxas, *ptx, capability).ok()) << capability;
  }
}

TEST_P(PipelineCudaTest, OlderDevicesAreRefused) {
  const Target turing = *Target::Parse("cuda -arch=sm_75");
  if (const std::string why = entry().refuses(workload(), turing); !why.empty()) {
    EXPECT_THAT(why, HasSubstr("sm_75")) << "no such product there at all";
    return;
  }
  // A config of a newer device, which is not in this device's space.
  const auto space = *entry().define_space(workload(), *Target::Parse("cuda -arch=sm_80"));
  const Config one = *entry().default_config(workload(), turing);
  EXPECT_EQ(one.Integer("stages"), 1);
  int refused = 0;
  for (std::int64_t i = 0; i < space.size(); i += 7) {
    const Config config = space.At(i);
    if (config.Integer("stages") == 1) continue;
    EXPECT_EQ(entry().apply(workload(), Epilogue(), turing, config).status().message(),
              "asynchronous copies on sm_75, expected at least sm_80");
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

/// Returns the statement with its leaves replaced by `change`; null removes a leaf.
Stmt ChangeLeaves(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& change) {
  if (stmt->body.empty()) return change(stmt);
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) {
    if (Stmt changed = ChangeLeaves(part, change)) body.push_back(std::move(changed));
  }
  return WithBody(stmt, std::move(body));
}

TEST_P(PipelineCudaTest, AMissingWaitIsFound) {
  Program program = Pipelined();
  program.body = ChangeLeaves(program.body,
                              [](const Stmt& stmt) { return IsAsyncWait(*stmt) ? Stmt() : stmt; });
  EXPECT_THAT(Verify(program).message(), HasSubstr("to which a copy is under way"));
}

TEST_P(PipelineCudaTest, AWaitForTheGroupBeforeIsFound) {
  Program program = Pipelined();
  program.body = ChangeLeaves(program.body, [](const Stmt& stmt) {
    return IsAsyncWait(*stmt) ? MakeAsyncWait(PendingGroupsOf(*stmt) + 1, stmt->regions) : stmt;
  });
  EXPECT_THAT(Verify(program).message(), HasSubstr("to which a copy is under way"));
}

TEST_P(PipelineCudaTest, AMissingBarrierIsFound) {
  Program program = Pipelined();
  program.body = ChangeLeaves(program.body, [](const Stmt& stmt) {
    return stmt->kind == StmtKind::kBarrier ? Stmt() : stmt;
  });
  EXPECT_EQ(Verify(program).code(), StatusCode::kCorrupt);
}

TEST_P(PipelineCudaTest, ACopyTooFewIsFound) {
  Program program = Pipelined();
  int changed = 0;
  program.body = MapExprs(program.body, [&](const Expr& expr) {
    return Rewrite(expr, [&](const Expr& node) {
      std::int64_t divisor = 0;
      const bool turn =
          node->kind == ExprKind::kFloorMod && node->args[1].IsInt(&divisor) && divisor == kStages;
      changed += turn ? 1 : 0;
      return turn ? FloorMod(node->args[0], Expr(kStages - 1)) : Expr();
    });
  });
  EXPECT_GT(changed, 0);
  EXPECT_EQ(Verify(program).code(), StatusCode::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(
    Templates, PipelineCudaTest,
    testing::Values(
        PipelineCase{"DenseS8", "dense_mma.cuda", "dense(int8[32,160]MK,int8[32,160]NK)->int32"},
        PipelineCase{"DenseF16", "dense_mma.cuda",
                     "dense(float16[32,64]MK,float16[32,64]NK)->float32"},
        PipelineCase{
            "PaddedConv", "conv2d_mma.cuda",
            "conv2d(int8[1,32,5,5]NCHW,int8[16,32,2,2]OIHW,s1x1,p1x1x0x0,d1x1,g1)->int32"}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace tilewright
