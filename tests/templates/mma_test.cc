// Tensor cores: every instruction through the template that uses it, in the SIMT emulator, which
// models the hardware's fragments; PTX through ptxas if it is installed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/ir/visit.h"
#include "src/schedule/intrinsics.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/tolerance.h"
#include "src/target/gpu.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

struct MmaCase {
  const char* name;
  const char* key;
  const char* workload;
  const char* target;
  const char* instruction;
  const char* ptx;
};

constexpr MmaCase kMmaCases[] = {
    {"S8Ampere", "dense_mma.cuda", "dense(int8[64,96]MK,int8[48,96]NK)->int32", "cuda -arch=sm_80",
     "mma.m16n8k32.s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
    {"S8Turing", "dense_mma.cuda", "dense(int8[24,48]MK,int8[16,48]NK)->int32", "cuda -arch=sm_75",
     "mma.m8n8k16.s8", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"},
    {"F16Ampere", "dense_mma.cuda", "dense(float16[32,48]MK,float16[32,48]NK)->float32",
     "cuda -arch=sm_80", "mma.m16n8k16.f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
    {"F16Turing", "dense_mma.cuda", "dense(float16[32,24]MK,float16[16,24]NK)->float16",
     "cuda -arch=sm_75", "mma.m16n8k8.f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"},
    {"Tf32", "dense_mma.cuda", "dense(float32[32,24]MK,float32[16,24]NK)->float32",
     "cuda -arch=sm_80 -tf32", "mma.m16n8k8.tf32",
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
    {"ConvTf32", "conv2d_mma.cuda",
     "conv2d(float32[1,3,7,7]NCHW,float32[8,3,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "cuda -arch=sm_80 -tf32", "mma.m16n8k8.tf32",
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
    {"BatchS8", "batch_matmul_mma.cuda", "batch_matmul(int8[2,16,64]BMK,int8[2,16,64]BNK)->int32",
     "cuda -arch=sm_80", "mma.m16n8k32.s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
    {"BatchF16", "batch_matmul_mma.cuda",
     "batch_matmul(float16[3,32,16]BMK,float16[3,8,16]BNK)->float32", "cuda -arch=sm_75",
     "mma.m16n8k8.f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"},
    {"ConvS8", "conv2d_mma.cuda",
     "conv2d(int8[1,64,7,7]NCHW,int8[16,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
     "cuda -arch=sm_80", "mma.m16n8k32.s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
    {"ConvS8Stride", "conv2d_mma.cuda",
     "conv2d(int8[2,20,9,11]NCHW,int8[24,20,3,2]OIHW,s2x1,p1x0x2x1,d1x2,g1)->int32",
     "cuda -arch=sm_75", "mma.m8n8k16.s8", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"},
    {"ConvS8Nhwc", "conv2d_mma.cuda",
     "conv2d(int8[1,4,8,32]NHWC,int8[1,1,32,16]HWIO,s1x1,p0x0x0x0,d1x1,g1)->int32",
     "cuda -arch=sm_80", "mma.m16n8k32.s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
    {"ConvF16First", "conv2d_mma.cuda",
     "conv2d(float16[1,3,13,13]NCHW,float16[16,3,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->float32",
     "cuda -arch=sm_75", "mma.m16n8k8.f16", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"},
    {"ConvF16", "conv2d_mma.cuda",
     "conv2d(float16[2,32,5,5]NCHW,float16[16,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float16",
     "cuda -arch=sm_80", "mma.m16n8k16.f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
};

class MmaTest : public testing::TestWithParam<MmaCase> {
 protected:
  Workload workload() const { return *Workload::Parse(GetParam().workload); }
  Target target() const { return *Target::Parse(GetParam().target); }
  const TemplateEntry& entry() const { return *BuiltInTemplates().Find(GetParam().key); }

  /// Returns a typical epilogue of an anchor with these types.
  Epilogue epilogue() const {
    const char* text = "cast(float16)";
    if (workload().data.dtype == kFloat32) {
      text = "add(channel:float32);relu";
    } else if (workload().out_dtype == kInt32) {
      text = "add(channel:int32);shift_right(7);clip(-127,127);cast(int8)";
    } else if (workload().out_dtype == kFloat32) {
      text = "add(channel:float16);relu;cast(float16)";
    }
    return *Epilogue::Parse(text);
  }
  KernelLayouts layouts() const {
    return entry()
        .apply(workload(), Epilogue(), target(), *entry().default_config(workload(), target()))
        ->layouts;
  }
  Result<Program> LowerConfig(const Config& config, const Epilogue& epilogue) const {
    auto kernel = entry().apply(workload(), epilogue, target(), config);
    TW_RETURN_IF_ERROR(kernel);
    return Lower(kernel->schedule, "kernel");
  }
  Status Verify(const Program& program, const Epilogue& epilogue) const {
    const AnchorData data = MakeAnchorData(workload(), epilogue, 7);
    auto result = RunProgram(workload(), epilogue, target(), program, layouts(), data);
    TW_RETURN_IF_ERROR(result);
    std::vector<const Tensor*> operands;
    for (const Tensor& operand : data.operands) operands.push_back(&operand);
    auto expected = EvaluateAnchor(workload(), epilogue, data.data, data.weight, operands);
    TW_RETURN_IF_ERROR(expected);
    if (Compare(*result, *expected, ToleranceOf(program)).ok) return {};
    return Internal("differs from the reference");
  }
};

TEST_P(MmaTest, ConfigsAreRight) {
  auto space = entry().define_space(workload(), target());
  ASSERT_TRUE(space.ok()) << space.status().message();
  int right = 0;
  for (std::int64_t i = 0; i < space->size() && right < 5; i += 1 + space->size() / 48) {
    auto program = LowerConfig(space->At(i), Epilogue());
    if (!program.ok()) {
      EXPECT_THAT(program.status().message(),
                  AnyOf(HasSubstr("does not divide"), HasSubstr("differs between threads"),
                        HasSubstr("asynchronous copies on sm_75"), HasSubstr("pipeline")));
      continue;
    }
    const Status verified = Verify(*program, Epilogue());
    EXPECT_TRUE(verified.ok()) << i << ": " << verified.message();
    ++right;
  }
  EXPECT_GE(right, 2);
}

TEST_P(MmaTest, TheEpilogueIsPartOfTheKernel) {
  auto program = LowerConfig(*entry().default_config(workload(), target()), epilogue());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_THAT(ToString(*program), HasSubstr(GetParam().instruction));
  EXPECT_EQ(PlanLaunches(*program).launches.size(), 1U);
  const Status verified = Verify(*program, epilogue());
  EXPECT_TRUE(verified.ok()) << verified.message();
}

TEST_P(MmaTest, PtxHasTheInstructionAndPtxasTakesIt) {
  auto program = LowerConfig(*entry().default_config(workload(), target()), epilogue());
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto ptx = Generate({*program}, target(), Emit::kObject);
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  EXPECT_THAT(*ptx, HasSubstr(GetParam().ptx));
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas on this machine";
  for (const int capability : {75, 80, 90}) {
    if (capability < *ComputeCapabilityOf(target())) continue;
    EXPECT_TRUE(RunPtxas(ptxas, *ptx, capability).ok()) << capability;
  }
}

/// Returns the statement with its matrix products replaced by `change`.
Stmt WithProducts(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& change) {
  if (stmt->kind == StmtKind::kIntrinsic && FindMmaIntrinsic(stmt->name) != nullptr) {
    return change(stmt);
  }
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) body.push_back(WithProducts(part, change));
  return stmt->body.empty() ? stmt : WithBody(stmt, std::move(body));
}

TEST_P(MmaTest, ASwappedFragmentIsFound) {
  auto program = LowerConfig(*entry().default_config(workload(), target()), Epilogue());
  ASSERT_TRUE(program.ok()) << program.status().message();
  program->body = WithProducts(program->body, [](const Stmt& product) {
    std::vector<Region> regions = product->regions;
    std::swap(regions[0], regions[1]);
    return MakeIntrinsic(product->name, std::move(regions));
  });
  EXPECT_FALSE(Verify(*program, Epilogue()).ok());
}

TEST_P(MmaTest, AWarpThatDoesNotComeTogetherIsFound) {
  auto program = LowerConfig(*entry().default_config(workload(), target()), Epilogue());
  ASSERT_TRUE(program.ok()) << program.status().message();
  Expr thread;
  const std::function<void(const Stmt&)> find = [&](const Stmt& stmt) {
    if (stmt->kind == StmtKind::kFor && stmt->loop == LoopKind::kThreadX) thread = stmt->var;
    for (const Stmt& part : stmt->body) find(part);
  };
  find(program->body);
  ASSERT_TRUE(thread);
  program->body = WithProducts(
      program->body, [&](const Stmt& product) { return MakeIf(Lt(thread, Expr(3)), product); });
  EXPECT_THAT(Verify(*program, Epilogue()).message(), HasSubstr("come to the same matrix product"));
}

/// Returns the statement without its barrier number `missing`, which counts down.
Stmt WithoutBarrier(const Stmt& stmt, int* missing) {
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) {
    if (part->kind == StmtKind::kBarrier && (*missing)-- == 0) continue;
    body.push_back(WithoutBarrier(part, missing));
  }
  return stmt->body.empty() ? stmt : WithBody(stmt, std::move(body));
}

TEST_P(MmaTest, AMissingBarrierIsFound) {
  auto program = LowerConfig(*entry().default_config(workload(), target()), Epilogue());
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Stmt whole = program->body;
  for (int first = 0;; ++first) {
    int missing = first;
    program->body = WithoutBarrier(whole, &missing);
    if (missing >= 0) {
      EXPECT_GT(first, 0) << "no barrier at all";
      break;
    }
    EXPECT_FALSE(Verify(*program, Epilogue()).ok()) << "barrier " << first;
  }
}

TEST_P(MmaTest, ConditionsThatAreOffByOneAreFound) {
  auto program = LowerConfig(*entry().default_config(workload(), target()), Epilogue());
  ASSERT_TRUE(program.ok()) << program.status().message();
  int changed = 0;
  program->body = MapExprs(program->body, [&](const Expr& expr) {
    return Rewrite(expr, [&](const Expr& node) {
      std::int64_t bound = 0;
      if (node->kind != ExprKind::kLt || !node->args[1].IsInt(&bound)) return Expr();
      ++changed;
      return Lt(node->args[0], Expr(bound + 1));
    });
  });
  EXPECT_TRUE(changed > 0 || workload().padding == Workload().padding)
      << "padding is unconditional";
  EXPECT_EQ(Verify(*program, Epilogue()).ok(), changed == 0);
}

TEST_P(MmaTest, OnlyTf32HasAWiderTolerance) {
  auto program = LowerConfig(*entry().default_config(workload(), target()), Epilogue());
  ASSERT_TRUE(program.ok()) << program.status().message();
  const bool tf32 = workload().data.dtype == kFloat32;
  EXPECT_EQ(ToleranceOf(*program) == 1e-2, tf32);
  program->body = WithProducts(program->body, [](const Stmt&) { return MakeBarrier(); });
  EXPECT_NE(ToleranceOf(*program), 1e-2);
  EXPECT_EQ(ToleranceOf(*program).has_value(), workload().out_dtype == kFloat16);
}

TEST(MmaSpaceTest, HasNoMoreStagesThanTheTargetOrTheStepsAllow) {
  struct Case {
    const char* workload;
    const char* arch;
    std::vector<std::int64_t> stages;
  };
  for (const Case& c :
       {Case{"dense(float16[16,256]MK,float16[16,256]NK)->float32", "sm_75", {1}},
        Case{"dense(float16[16,256]MK,float16[16,256]NK)->float32", "sm_80", {1, 2, 3, 4}},
        Case{"dense(float16[16,48]MK,float16[16,48]NK)->float32", "sm_80", {1, 2, 3}},
        Case{"dense(float16[16,16]MK,float16[16,16]NK)->float32", "sm_80", {1}}}) {
    const Target target = *Target::Parse(std::string("cuda -arch=") + c.arch);
    const auto space = BuiltInTemplates()
                           .Find("dense_mma.cuda")
                           ->define_space(*Workload::Parse(c.workload), target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    std::set<std::int64_t> stages;
    for (std::int64_t i = 0; i < space->size(); ++i) stages.insert(space->At(i).Integer("stages"));
    EXPECT_THAT(stages, testing::ElementsAreArray(c.stages)) << c.workload << " " << c.arch;
  }
}

TEST(MmaGridTest, HoldsMoreThan65535BlocksOfRows) {
  const Workload workload = *Workload::Parse(
      "conv2d(float16[128,16,224,224]NCHW,float16[64,16,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float16");
  const Target target = *Target::Parse("cuda -arch=sm_80");
  const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_mma.cuda");
  auto kernel =
      entry->apply(workload, Epilogue(), target, *entry->default_config(workload, target));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  auto program = Lower(kernel->schedule, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(PlanLaunches(*program).launches[0].grid[0], 100352);
  EXPECT_TRUE(Generate({*program}, target, Emit::kObject).ok());
}

TEST(MmaRefusalTest, SaysWhatIsMissing) {
  struct Refused {
    const char* key;
    const char* workload;
    const char* arch;
    const char* reason;
  };
  for (const Refused& c :
       {Refused{"conv2d_mma.cuda",
                "conv2d(int8[1,32,9,9]NCHW,int8[12,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
                "sm_80", "no product for these types that fits 81 x 12 sums of 32"},
        Refused{"conv2d_mma.cuda",
                "conv2d(int8[1,32,3,3]NCHW,int8[16,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
                "sm_75", "fewer than 16 pixels"},
        Refused{"conv2d_mma.cuda",
                "conv2d(float32[1,32,9,9]NCHW,float32[16,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->"
                "float32",
                "sm_80", "only int8 summed in int32 and float16"},
        Refused{"conv2d_mma.cuda",
                "conv2d(uint8[1,32,9,9]NCHW,int8[16,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
                "sm_80", "only int8 summed in int32 and float16"},
        Refused{"batch_matmul_mma.cuda",
                "batch_matmul(float16[2,16,32]BMK,float16[2,16,32]BNK)->float32", "sm_70",
                "tensor cores of sm_70 have no product"}}) {
    const Target target = *Target::Parse(std::string("cuda -arch=") + c.arch);
    EXPECT_THAT(BuiltInTemplates().Find(c.key)->refuses(*Workload::Parse(c.workload), target),
                HasSubstr(c.reason));
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, MmaTest, testing::ValuesIn(kMmaCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace tilewright
