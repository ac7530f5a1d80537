// Code objects for AMD GPUs: what the processors' code contains, its metadata, and the same modules
// in the SIMT emulator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "src/codegen/amdgpu/code_object.h"
#include "src/codegen/codegen.h"
#include "src/codegen/simt/simt.h"
#include "src/schedule/launch.h"
#include "src/target/gpu.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kAmdThreads = 128, kAmdBlocks = 3;  // more than a wavefront

Target AmdTarget(std::string_view processor) {
  return *Target::Parse("rocm -model=" + std::string(processor));
}

/// Reverses the elements of each block by shared memory of `elements`; without `barrier`, with a
/// race.
Program Reversal(bool barrier = true, std::int64_t elements = kAmdThreads) {
  const Buffer input = MakeBuffer("input", kFloat32, {kAmdBlocks * kAmdThreads});
  const Buffer output = MakeBuffer("output", kFloat32, {kAmdBlocks * kAmdThreads});
  const Buffer shared = MakeBuffer("shared", kFloat32, {elements}, Scope::kShared);
  const Expr block = MakeVar("block.x"), thread = MakeVar("thread.x");
  const Expr at = block * Expr(kAmdThreads) + thread;
  std::vector<Stmt> steps = {MakeStore(shared, {thread}, MakeLoad(input, {at}))};
  if (barrier) steps.push_back(MakeBarrier());
  steps.push_back(MakeStore(output, {at}, MakeLoad(shared, {Expr(kAmdThreads - 1) - thread})));
  Program program;
  program.name = "reverse";
  program.parameters = {input, output};
  program.body = MakeFor(
      block, kAmdBlocks, LoopKind::kBlockX,
      MakeFor(thread, kAmdThreads, LoopKind::kThreadX, MakeAllocate(shared, MakeBlock(steps))));
  return program;
}

/// One product of four bytes per thread.
Program ByteProducts(DataType a_type) {
  const Buffer a = MakeBuffer("a", a_type, {kAmdThreads, 4}),
               b = MakeBuffer("b", kInt8, {kAmdThreads, 4});
  const Buffer sums = MakeBuffer("sums", kInt32, {kAmdThreads});
  const Expr thread = MakeVar("thread.x");
  Program program;
  program.name = "products";
  program.parameters = {a, b, sums};
  const char* name = a_type == kInt8 ? "dot4.s8s8" : "dot4.u8s8";
  program.body = MakeFor(thread, kAmdThreads, LoopKind::kThreadX,
                         MakeBlock({MakeStore(sums, {thread}, MakeInt(kInt32, 5)),
                                    MakeIntrinsic(name, {{sums, {thread}, {1}},
                                                         {a, {thread, Expr(0)}, {1, 4}},
                                                         {b, {thread, Expr(0)}, {1, 4}}})}));
  return program;
}

std::string AmdAssembly(const Program& program, std::string_view processor) {
  const auto text = Generate({program}, AmdTarget(processor), Emit::kAssembly);
  return text.ok() ? *text : "error: " + text.status().message();
}

TEST(AmdGpuTest, EveryProcessorHasCodeObjectsWithItsMetadata) {
  for (const AmdProcessor& processor : AmdProcessors()) {
    SCOPED_TRACE(processor.name);
    const auto code = Generate({Reversal()}, AmdTarget(processor.name), Emit::kObject);
    ASSERT_TRUE(code.ok()) << code.status().message();
    EXPECT_EQ(code->substr(0, 4), "\177ELF");
    const auto kernels = ResourcesOfCodeObject(*code);
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    ASSERT_EQ(kernels->size(), 1U);
    const AmdKernelResources& kernel = kernels->front();
    EXPECT_EQ(kernel.kernel, "reverse");
    EXPECT_EQ(kernel.wave_lanes, processor.wave_lanes);
    EXPECT_EQ(kernel.threads, kAmdThreads);
    EXPECT_EQ(kernel.local_bytes, kAmdThreads * 4);
    EXPECT_EQ(kernel.private_bytes, 0);
    EXPECT_EQ(kernel.vector_spills + kernel.scalar_spills, 0);
    EXPECT_GT(kernel.vector_registers, 0);
    EXPECT_LE(kernel.vector_registers, 16);
    EXPECT_EQ(kernel.parameters, 2) << "nothing but the addresses of the tensors";
  }
}

TEST(AmdGpuTest, MemoryIsGlobalOrLocalAndBarriersOrderIt) {
  const std::string text = AmdAssembly(Reversal(), "gfx906");
  EXPECT_THAT(text, HasSubstr(".amdhsa_code_object_version 5"));
  for (const char* instruction :
       {"global_load_dword ", "global_store_dword ", "ds_write_b32 ", "ds_read_b32 ", "s_barrier",
        "s_waitcnt lgkmcnt(0)", "s_endpgm"}) {
    EXPECT_THAT(text, HasSubstr(instruction));
  }
  for (const char* instruction :
       {"flat_load", "flat_store", "scratch_load", "scratch_store", "buffer_"}) {
    EXPECT_THAT(text, Not(HasSubstr(instruction)));
  }
}

TEST(AmdGpuTest, ProductsOfBytesAreOneInstructionWhereThereIsOne) {
  EXPECT_THAT(AmdAssembly(ByteProducts(kInt8), "gfx906"), HasSubstr("v_dot4_i32_i8 "));
  EXPECT_THAT(AmdAssembly(ByteProducts(kUInt8), "gfx906"), HasSubstr("v_dot4_i32_i8 "));
  EXPECT_THAT(AmdAssembly(ByteProducts(kInt8), "gfx1100"), HasSubstr("v_dot4_i32_iu8 "));
  EXPECT_THAT(AmdAssembly(ByteProducts(kUInt8), "gfx1100"), HasSubstr("v_dot4_i32_iu8 "));
  EXPECT_THAT(AmdAssembly(ByteProducts(kInt8), "gfx900"), Not(HasSubstr("v_dot4")));
}

TEST(AmdGpuTest, TheEmulatorRunsTheModulesOfAmd) {
  alignas(64) std::array<float, kAmdBlocks * kAmdThreads> input{}, output{};
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i);
  std::array<void*, 2> arguments = {input.data(), output.data()};
  auto kernel = SimtKernel::Build(Reversal(), AmdTarget("gfx1030"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_TRUE(kernel->Run(arguments).ok());
  for (std::size_t i = 0; i < input.size(); ++i) {
    EXPECT_EQ(output[i], static_cast<float>(i / kAmdThreads * kAmdThreads + kAmdThreads - 1 -
                                            i % kAmdThreads));
  }
  auto racing = SimtKernel::Build(Reversal(/*barrier=*/false), AmdTarget("gfx906"));
  ASSERT_TRUE(racing.ok()) << racing.status().message();
  EXPECT_FALSE(racing->Run(arguments).ok());
}

TEST(AmdGpuTest, ProductsOfBytesAreExactWithAndWithoutTheInstruction) {
  alignas(64) std::array<std::uint8_t, kAmdThreads * 4> a{}, b{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint8_t>(i * 37);
    b[i] = static_cast<std::uint8_t>(i * 91 + 128);
  }
  for (const DataType type : {kInt8, kUInt8}) {
    for (const char* processor : {"gfx900", "gfx906", "gfx1100"}) {
      SCOPED_TRACE(std::string(processor) + " " + DataTypeName(type));
      alignas(64) std::array<std::int32_t, kAmdThreads> sums{};
      std::array<void*, 3> arguments = {a.data(), b.data(), sums.data()};
      auto kernel = SimtKernel::Build(ByteProducts(type), AmdTarget(processor));
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      ASSERT_TRUE(kernel->Run(arguments).ok());
      for (std::size_t t = 0; t < kAmdThreads; ++t) {
        std::int32_t expected = 5;
        for (std::size_t i = 4 * t; i < 4 * t + 4; ++i) {
          const int x = type == kInt8 ? static_cast<std::int8_t>(a[i]) : a[i];
          expected += x * static_cast<std::int8_t>(b[i]);
        }
        EXPECT_EQ(sums[t], expected) << "thread " << t;
      }
    }
  }
}

/// Sums 64 products in each of 8 unrolled steps, each with a conditional copy to shared memory.
Program UnrolledSteps() {
  constexpr std::int64_t kSteps = 8, kDepth = 64;
  const Buffer input = MakeBuffer("input", kFloat32, {kSteps, kAmdThreads});
  const Buffer output = MakeBuffer("output", kFloat32, {kAmdThreads});
  const Buffer shared = MakeBuffer("shared", kFloat32, {kAmdThreads}, Scope::kShared);
  const Buffer sum = MakeBuffer("sum", kFloat32, {1}, Scope::kLocal);
  const Expr thread = MakeVar("thread.x"), step = MakeVar("step"), k = MakeVar("k");
  const Expr factor = MakeLoad(shared, {k});
  const Stmt copy =
      MakeIf(Lt(thread, 100), MakeStore(shared, {thread}, MakeLoad(input, {step, thread})));
  const Stmt add =
      MakeStore(sum, {Expr(0)}, MakeLoad(sum, {Expr(0)}) + factor * MakeLoad(shared, {k + 1}));
  const Stmt steps = MakeFor(step, kSteps, LoopKind::kUnrolled,
                             MakeBlock({MakeBarrier(), copy, MakeBarrier(),
                                        MakeFor(k, kDepth, LoopKind::kUnrolled, add)}));
  Program program;
  program.name = "steps";
  program.parameters = {input, output};
  program.body = MakeFor(
      thread, kAmdThreads, LoopKind::kThreadX,
      MakeAllocate(
          shared,
          MakeAllocate(sum, MakeBlock({MakeStore(sum, {Expr(0)}, MakeFloat(kFloat32, 0)), steps,
                                       MakeStore(output, {thread}, MakeLoad(sum, {Expr(0)}))}))));
  return program;
}

TEST(AmdGpuTest, SumsStayInTheStepThatComputesThem) {
  const auto code = Generate({UnrolledSteps()}, AmdTarget("gfx906"), Emit::kObject);
  ASSERT_TRUE(code.ok()) << code.status().message();
  const auto kernels = ResourcesOfCodeObject(*code);
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  EXPECT_LE(kernels->front().vector_registers, 100) << "else all values that are added are kept";
  auto kernel = SimtKernel::Build(UnrolledSteps(), AmdTarget("gfx906"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  alignas(64) std::array<float, 8 * kAmdThreads> input{};
  alignas(64) std::array<float, kAmdThreads> output{};
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 5);
  std::array<void*, 2> arguments = {input.data(), output.data()};
  const Status ran = kernel->Run(arguments);
  ASSERT_TRUE(ran.ok()) << ran.message();
  float expected = 0;
  for (std::size_t step = 0; step < 8; ++step) {
    const float* row = &input[step * kAmdThreads];
    for (std::size_t k = 0; k < 64; ++k) expected += row[k] * row[k + 1];
  }
  EXPECT_EQ(output[7], expected);
}

TEST(AmdGpuTest, LargeLocalMemoryIsThatOfTheLaunch) {
  const Program program = Reversal(/*barrier=*/true, (50 << 10) / 4);
  const auto code = Generate({program}, AmdTarget("gfx906"), Emit::kObject);
  ASSERT_TRUE(code.ok()) << code.status().message();
  const auto kernels = ResourcesOfCodeObject(*code);
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  EXPECT_EQ(kernels->front().local_bytes, 0);
  EXPECT_EQ(PlanLaunches(program).launches.front().dynamic_shared_bytes(), 50 << 10);
  alignas(64) std::array<float, kAmdBlocks * kAmdThreads> input{}, output{};
  input[3] = 7;
  std::array<void*, 2> arguments = {input.data(), output.data()};
  auto kernel = SimtKernel::Build(program, AmdTarget("gfx906"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_TRUE(kernel->Run(arguments).ok());
  EXPECT_EQ(output[kAmdThreads - 1 - 3], 7);
}

TEST(AmdGpuTest, OtherFilesAreNoCodeObjects) {
  const auto ptx = ResourcesOfCodeObject(".version 6.3");
  EXPECT_THAT(ptx.status().message(), HasSubstr("not a code object of an AMD GPU"));
  const auto cpu =
      Generate({ByteProducts(kInt8)}, *Target::Parse("rocm -model=gfx906"), Emit::kObject);
  ASSERT_TRUE(cpu.ok());
  for (const std::size_t bytes : {std::size_t{20}, std::size_t{70}, cpu->size() / 2}) {
    EXPECT_FALSE(ResourcesOfCodeObject(cpu->substr(0, bytes)).ok()) << bytes;
  }
}

TEST(AmdGpuTest, UnknownProcessorsAreNamed) {
  const auto message = [](const char* target) {
    return Generate({Reversal()}, *Target::Parse(target), Emit::kObject).status().message();
  };
  EXPECT_THAT(message("rocm -model=gfx999"), HasSubstr("-model=gfx999: not a processor of AMD"));
  EXPECT_THAT(message("rocm -mcpu=sm_75"), HasSubstr("-mcpu=sm_75: not a processor of AMD"));
  EXPECT_EQ(message("rocm -mcpu=gfx90a -model=mi250"), "");
}

}  // namespace
}  // namespace tilewright
