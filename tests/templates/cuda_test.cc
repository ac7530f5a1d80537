// CUDA kernels: the published structure of a known config, every PTX through ptxas if it is
// installed, and faults that the SIMT emulator must detect.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/math.h"
#include "src/base/random.h"
#include "src/base/strings.h"
#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/ir/visit.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"
#include "tests/templates/shared_bytes.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr const char* kConv =
    "conv2d(float32[1,3,224,224]NCHW,float32[16,3,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";
constexpr const char* kSmall =
    "conv2d(float32[1,6,12,12]NCHW,float32[16,6,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";

Target Turing() { return *Target::Parse("cuda -arch=sm_75"); }

Result<Program> LowerConv(const std::string& workload, const std::string& values) {
  const auto* entry = BuiltInTemplates().Find("conv2d_nchw.cuda");
  TW_CHECK(entry != nullptr);
  const Workload w = *Workload::Parse(workload);
  auto space = entry->define_space(w, Turing());
  TW_RETURN_IF_ERROR(space);
  auto wanted = Config::Parse(values);
  TW_RETURN_IF_ERROR(wanted);
  auto config = space->Locate(*wanted);
  TW_RETURN_IF_ERROR(config);
  auto kernel = entry->apply(w, *Epilogue::Parse("add(channel:float32);relu"), Turing(), *config);
  TW_RETURN_IF_ERROR(kernel);
  return Lower(kernel->schedule, "kernel");
}

constexpr const char* kPublished =
    R"({"index":0,"values":{"tile_f":[1,2,4,2],"tile_y":[224,1,1,1],"tile_x":[2,7,16,1],)"
    R"("tile_rc":[3,1],"tile_ry":[3,1],"tile_rx":[1,3],"auto_unroll_max_step":0,)"
    R"("unroll_explicit":0}})";
constexpr const char* kSmallConfig =
    R"({"index":0,"values":{"tile_f":[2,2,4,1],"tile_y":[3,1,2,2],"tile_x":[1,2,6,1],)"
    R"("tile_rc":[3,2],"tile_ry":[1,3],"tile_rx":[1,3],"auto_unroll_max_step":0,)"
    R"("unroll_explicit":0}})";

// Without the long line that copies the padded data.
constexpr const char* kPublishedLoops =
    R"(kernel(data: float32[1, 3, 224, 224], weight: float32[16, 3, 3, 3], operand2: float32[16] -> output: float32[1, 16, 224, 224]):
  for block.y in 0..224 block.y:
    for block.x in 0..2 block.x:
      for thread.z in 0..4 thread.z:
        for thread.x in 0..16 thread.x:
          for n.oc.o.o.o in 0..1 auto_unroll_max_step=0 unroll_explicit=0:
            allocate reduce: float32[2, 7, 1, 2, 1, 1] local
            for oc in 0..2:
              for ow.o.o.i in 0..7 vthread:
                for oc.o.o.i in 0..2 vthread:
                  reduce[oc.o.o.i, ow.o.o.i, 0, oc, 0, 0] = 0.0f
            for ic.o in 0..3:
              for kh.o in 0..3:
                allocate pad.shared: float32[114] shared
                allocate weight.shared: float32[48] shared
                barrier
                if thread.x < 15:
                  for a0.a1.a2.a3.i.i.i in 0..2:
                    if thread.z*29 + thread.x*2 + a0.a1.a2.a3.i.i.i < 114 && thread.x*2 + a0.a1.a2.a3.i.i.i < 29:
                if thread.x < 12:
                  weight.shared[thread.z*12 + thread.x] = weight[thread.z*4 + floordiv(thread.x, 3), ic.o, kh.o, floormod(thread.x, 3)]
                barrier
                for kw.i in 0..3:
                  for oc in 0..2:
                    for ow.o.o.i in 0..7 vthread:
                      for oc.o.o.i in 0..2 vthread:
                        reduce[oc.o.o.i, ow.o.o.i, 0, oc, 0, 0] = reduce[oc.o.o.i, ow.o.o.i, 0, oc, 0, 0] + pad.shared[ow.o.o.i*16 + thread.x + kw.i] * weight.shared[kw.i + oc.o.o.i*24 + thread.z*6 + oc*3]
            for oc.i in 0..2:
              for ow.o.o.i in 0..7 vthread:
                for oc.o.o.i in 0..2 vthread:
                  output[0, oc.o.o.i*8 + thread.z*2 + oc.i, block.y, block.x*112 + ow.o.o.i*16 + thread.x] = max(reduce[oc.o.o.i, ow.o.o.i, 0, oc.i, 0, 0] + operand2[oc.o.o.i*8 + thread.z*2 + oc.i], 0.0f)
)";

/// Returns a text without its lines that are too long for the comparison.
std::string Lines(const std::string& text) {
  constexpr std::size_t kLongest = 300;
  std::string kept;
  for (const std::string& line : Split(text, '\n')) {
    if (line.size() <= kLongest && !line.empty()) kept += line + "\n";
  }
  return kept;
}

TEST(CudaTest, ThePublishedConfigHasThePublishedStructure) {
  auto program = LowerConv(kConv, kPublished);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const LaunchPlan plan = PlanLaunches(*program);
  ASSERT_EQ(plan.launches.size(), 1U) << "the epilogue is part of the kernel";
  const Launch& launch = plan.launches[0];
  EXPECT_THAT(launch.grid, testing::ElementsAre(2, 224, 1));
  EXPECT_THAT(launch.block, testing::ElementsAre(16, 1, 4));
  EXPECT_EQ(launch.shared_bytes, RoundUp(114 * 4, kSharedAlignment) + 48 * 4);
  EXPECT_EQ(launch.largest_local_bytes, 28 * 4);
  EXPECT_EQ(Lines(ToString(*program)), kPublishedLoops);
}

TEST(CudaTest, TheSummaryKnowsTheSharedMemoryOfEveryTemplate) {
  constexpr int kConfigs = 12;
  Random random(5);
  for (const char* key :
       {kSmall, "conv2d(uint8[1,16,9,9]NCHW,int8[24,16,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->int32",
        "depthwise_conv2d(float32[1,24,13,13]NCHW,float32[24,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g24)->"
        "float32",
        "group_conv2d(float32[2,12,7,7]NCHW,float32[20,3,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g4)->float32",
        "conv2d_transpose(float32[1,8,5,5]NCHW,float32[8,12,4,4]IOHW,s2x2,p1x1x1x1,d1x1,g1,o0x0)->"
        "float32",
        "conv2d(int8[1,20,9,9]NCHW,int8[24,20,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->int32",
        "conv2d(float16[1,16,9,9]NCHW,float16[16,16,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
        "batch_matmul(int8[2,16,64]BMK,int8[2,24,64]BNK)->int32",
        "dense(int8[48,64]MK,int8[40,64]NK)->int32",
        "batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32"}) {
    const Workload workload = *Workload::Parse(key);
    for (const TemplateEntry* entry : BuiltInTemplates().For(workload, Turing())) {
      const auto space = entry->define_space(workload, Turing());
      ASSERT_TRUE(space.ok());
      for (int i = 0; i < kConfigs; ++i) {
        const auto index = random.Below(static_cast<std::uint64_t>(space->size()));
        const Config config = space->At(static_cast<std::int64_t>(index));
        SCOPED_TRACE(std::string(entry->key) + " " + config.ToString());
        const auto kernel = entry->apply(workload, {}, Turing(), config);
        if (!kernel.ok()) continue;
        const auto program = Lower(kernel->schedule, "kernel");
        if (program.ok()) ExpectSharedBytes(kernel->schedule, *program);
      }
    }
  }
}

/// Returns the statement without those for which `drop` is true.
Stmt Without(const Stmt& stmt, const std::function<bool(const StmtNode&)>& drop) {
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) {
    if (!drop(*part)) body.push_back(Without(part, drop));
  }
  return stmt->body.empty() ? stmt : WithBody(stmt, std::move(body));
}

class CudaFaultTest : public testing::Test {
 protected:
  CudaFaultTest() : program_(*LowerConv(kSmall, kSmallConfig)) {}

  Result<Tensor> Run() { return RunProgram(workload_, epilogue_, Turing(), program_, {}, data_); }
  Tensor Expected() {
    std::vector<const Tensor*> operands = {&data_.operands[0]};
    return *EvaluateAnchor(workload_, epilogue_, data_.data, data_.weight, operands);
  }

  Workload workload_ = *Workload::Parse(kSmall);
  Epilogue epilogue_ = *Epilogue::Parse("add(channel:float32);relu");
  AnchorData data_ = MakeAnchorData(workload_, epilogue_, 5);
  Program program_;
};

TEST_F(CudaFaultTest, TheKernelItselfIsRight) {
  auto result = Run();
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(Compare(*result, Expected()).ok);
}

TEST_F(CudaFaultTest, AMissingBarrierIsARace) {
  int barriers = 0;
  Without(program_.body, [&](const StmtNode& stmt) {
    barriers += stmt.kind == StmtKind::kBarrier ? 1 : 0;
    return false;
  });
  ASSERT_EQ(barriers, 2) << "before and after the copies to shared memory";
  const Stmt whole = program_.body;
  for (int missing = 0; missing < barriers; ++missing) {
    int seen = 0;
    program_.body = Without(whole, [&](const StmtNode& stmt) {
      return stmt.kind == StmtKind::kBarrier && seen++ == missing;
    });
    auto result = Run();
    ASSERT_FALSE(result.ok()) << "barrier " << missing;
    EXPECT_THAT(result.status().message(), HasSubstr("shared"));
  }
}

TEST_F(CudaFaultTest, APredicateThatIsOffByOneIsFound) {
  // The condition of the padding is too wide by one row or column.
  int changed = 0;
  program_.body = MapExprs(program_.body, [&](const Expr& expr) {
    return Rewrite(expr, [&](const Expr& node) {
      std::int64_t bound = 0;
      const bool upper = node->kind == ExprKind::kLt && node->args[1].IsInt(&bound) && bound == 13;
      if (!upper) return Expr();
      ++changed;
      return Lt(node->args[0], Expr(bound + 1));
    });
  });
  ASSERT_GT(changed, 0) << ToString(program_);
  auto result = Run();
  EXPECT_TRUE(!result.ok() || !Compare(*result, Expected()).ok);
}

TEST_F(CudaFaultTest, SwappedStridesAreFound) {
  // Swaps rows and columns of the data.
  program_.body = MapExprs(program_.body, [](const Expr& expr) {
    return Rewrite(expr, [](const Expr& node) {
      if (node->kind != ExprKind::kLoad || node->buffer->name != "data") return Expr();
      std::vector<Expr> indices = node->args;
      std::swap(indices[2], indices[3]);
      return MakeLoad(node->buffer, indices);
    });
  });
  auto result = Run();
  EXPECT_TRUE(!result.ok() || !Compare(*result, Expected()).ok);
}

TEST(CudaPtxTest, PtxasTakesWhatIsEmitted) {
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) GTEST_SKIP() << "needs NVIDIA's ptxas";
  std::string unrolled = kPublished;
  const std::string rolled = R"("auto_unroll_max_step":0,"unroll_explicit":0)";
  unrolled.replace(unrolled.find(rolled), rolled.size(),
                   R"("auto_unroll_max_step":1500,"unroll_explicit":1)");
  for (const std::string& config : {std::string(kPublished), unrolled}) {
    SCOPED_TRACE(config);
    auto program = LowerConv(kConv, config);
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (const int capability : {75, 80, 90}) {
      const Target target = *Target::Parse("cuda -arch=sm_" + std::to_string(capability));
      auto ptx = Generate({*program}, target, Emit::kAssembly);
      ASSERT_TRUE(ptx.ok()) << ptx.status().message();
      auto resources = RunPtxas(ptxas, *ptx, capability);
      ASSERT_TRUE(resources.ok()) << resources.status().message();
      ASSERT_EQ(resources->size(), 1U);
      const KernelResources& kernel = resources->front();
      EXPECT_EQ(kernel.kernel, "kernel");
      EXPECT_EQ(kernel.shared_bytes, PlanLaunches(*program).launches[0].shared_bytes);
      EXPECT_GE(kernel.registers, 28) << "one for each sum";
      if (config != unrolled) {
        EXPECT_EQ(kernel.spill_store_bytes, 0);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
