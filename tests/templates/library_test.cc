// Templates that call a library: their rejections, and the code around the call.
// conformance_test.cc compares the results if the library is installed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/codegen/codegen.h"
#include "src/codegen/simt/simt.h"
#include "src/schedule/launch.h"
#include "src/schedule/lower/lower.h"
#include "src/target/library.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

std::string Refusal(const char* key, const char* workload, const char* target) {
  return BuiltInTemplates().Find(key)->refuses(*Workload::Parse(workload), *Target::Parse(target));
}

constexpr const char* kLibraryConv =
    "conv2d(float32[1,32,10,9]NCHW,float32[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";

TEST(LibraryTemplates, ServeOnlyTargetsThatNameTheLibrary) {
  EXPECT_EQ(Refusal("conv2d.dnnl", kLibraryConv, "llvm -mcpu=haswell -libs=dnnl"), "");
  EXPECT_THAT(Refusal("conv2d.dnnl", kLibraryConv,
                      "llvm -mtriple=aarch64-linux-gnu -mattr=+neon -libs=dnnl"),
              HasSubstr("x86-64"));
  const Workload workload = *Workload::Parse(kLibraryConv);
  for (const TemplateEntry* entry :
       BuiltInTemplates().For(workload, *Target::Parse("llvm -mcpu=haswell"))) {
    EXPECT_FALSE(entry->key.ends_with(".dnnl")) << entry->key;
  }
  // The default config of an operator is never a library call.
  const auto entries =
      BuiltInTemplates().For(workload, *Target::Parse("llvm -mcpu=haswell -libs=dnnl"));
  EXPECT_FALSE(entries.front()->key.ends_with(".dnnl"));
  EXPECT_EQ(entries.back()->key, "conv2d.dnnl");
}

TEST(LibraryTemplates, RefuseIntegersThatWouldNotBeExact) {
  const char* vnni = "llvm -mcpu=cascadelake -libs=dnnl";
  const char* shallow =
      "conv2d(uint8[1,32,9,9]NCHW,int8[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
  // 64 * 9 products of up to 255 * 128 are more than 2^24.
  const char* deep = "conv2d(uint8[1,64,9,9]NCHW,int8[48,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
  EXPECT_EQ(Refusal("conv2d.dnnl", shallow, vnni), "");
  EXPECT_THAT(Refusal("conv2d.dnnl", shallow, "llvm -mcpu=skylake-avx512 -libs=dnnl"),
              HasSubstr("saturate"));
  EXPECT_THAT(Refusal("conv2d.dnnl", deep, vnni), HasSubstr("float32"));
  // Signed data is shifted, so its sums have the range of unsigned data.
  EXPECT_THAT(
      Refusal("conv2d.dnnl",
              "conv2d(int8[1,64,9,9]NCHW,int8[48,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32", vnni),
      HasSubstr("float32"));
  // Matrix products: only those of signed data use float32.
  EXPECT_THAT(Refusal("dense.dnnl", "dense(int8[1,515]MK,int8[40,515]NK)->int32", vnni),
              HasSubstr("float32"));
  EXPECT_EQ(Refusal("dense.dnnl", "dense(int8[1,514]MK,int8[40,514]NK)->int32", vnni), "");
  EXPECT_EQ(Refusal("dense.dnnl", "dense(uint8[1,4096]MK,int8[40,4096]NK)->int32", vnni), "");
}

std::string LoopsOf(const char* key, const char* workload, const char* epilogue) {
  const TemplateEntry& entry = *BuiltInTemplates().Find(key);
  const Workload parsed = *Workload::Parse(workload);
  const Target target = *Target::Parse("llvm -mcpu=haswell -libs=dnnl");
  auto config = entry.default_config(parsed, target);
  EXPECT_TRUE(config.ok()) << config.status().message();
  auto kernel = entry.apply(parsed, *Epilogue::Parse(epilogue), target, *config);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  auto program = Lower(kernel->schedule, "kernel");
  EXPECT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(LibraryCallsOf(program->body).size(), 1U);
  return ToString(*program);
}

TEST(LibraryTemplates, CallTheLibraryThenTheRest) {
  const std::string loops = LoopsOf("conv2d.dnnl", kLibraryConv, "add(channel:float32);relu");
  EXPECT_THAT(loops, HasSubstr(std::string(FileOf(*FindLibrary("dnnl"))) + "(reduce["));
  EXPECT_THAT(loops, HasSubstr("max("));
  EXPECT_LT(loops.find("libdnnl"), loops.find("for "));
}

TEST(LibraryTemplates, AreALaunchAmongOthersOnAGpu) {
  const Target target = *Target::Parse("cuda -arch=sm_80 -libs=cudnn,cublas");
  const Workload workload = *Workload::Parse(kLibraryConv);
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d.cudnn");
  EXPECT_EQ(entry.refuses(workload, target), "");
  auto kernel = entry.apply(workload, *Epilogue::Parse("add(channel:float32);relu"), target,
                            *entry.default_config(workload, target));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  auto program = Lower(kernel->schedule, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const LaunchPlan plan = PlanLaunches(*program);
  ASSERT_EQ(plan.launches.size(), 2U);
  ASSERT_NE(plan.launches[0].library(), nullptr);
  // data, weight, bias, result; then the sums, which the call writes.
  EXPECT_THAT(plan.launches[0].operands, testing::ElementsAre(4, 0, 1));
  EXPECT_EQ(plan.launches[1].library(), nullptr);
  auto ptx = Generate({*program}, target, Emit::kObject);
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  EXPECT_THAT(*ptx, HasSubstr(".entry " + plan.launches[1].name));
  EXPECT_EQ(ptx->find(".entry " + plan.launches[0].name + "("), std::string::npos);
  EXPECT_EQ(SimtKernel::Build(*program, target).status().code(), StatusCode::kUnsupported);
}

TEST(LibraryTemplates, RefuseWhatTheLibrariesOfGpusLack) {
  const char* target = "cuda -arch=sm_80 -libs=cudnn,cublas";
  EXPECT_THAT(Refusal("conv2d.cudnn",
                      "conv2d(float32[1,8,9,9]NCHW,float32[8,8,3,3]OIHW,s1x1,p0x1x2x0,d1x1,g1)->"
                      "float32",
                      target),
              HasSubstr("both sides"));
  EXPECT_THAT(Refusal("conv2d.cudnn", kLibraryConv, "llvm -libs=cudnn"), HasSubstr("CUDA"));
  EXPECT_EQ(Refusal("dense.cublas", "dense(int8[4,64]MK,int8[40,64]NK)->int32", target), "");
  EXPECT_THAT(Refusal("dense.cublas", "dense(int8[1,64]MK,int8[40,64]NK)->int32", target),
              HasSubstr("four"));
}

TEST(LibraryTemplates, ReadColumnsOfASecondOperandWhereTheyAre) {
  const char* columns = "batch_matmul(float32[3,12,32]BMK,float32[3,32,20]BKN)->float32";
  EXPECT_EQ(Refusal("batch_matmul.dnnl", columns, "llvm -mcpu=haswell -libs=dnnl"), "");
  EXPECT_THAT(LoopsOf("batch_matmul.dnnl", columns, ""), testing::Not(HasSubstr("for ")));
  EXPECT_THAT(Refusal("batch_matmul.cublas", columns, "cuda -arch=sm_80 -libs=cublas"),
              HasSubstr("only rows"));
}

TEST(LibraryTemplates, WriteTheResultWhereNothingFollows) {
  const std::string loops = LoopsOf(
      "batch_matmul.dnnl", "batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32", "");
  EXPECT_THAT(loops, testing::Not(HasSubstr("for ")));
  EXPECT_THAT(loops, testing::Not(HasSubstr("allocate")));
}

}  // namespace
}  // namespace tilewright
