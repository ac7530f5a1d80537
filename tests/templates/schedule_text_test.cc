// Text schedules: texts of two built-in templates give the same loops, the configs of all templates
// are written as texts that reproduce them, and errors are reported with their position.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/ir/print.h"
#include "src/schedule/lower/lower.h"
#include "src/target/library.h"
#include "src/templates/limits.h"
#include "src/templates/space_values.h"
#include "src/templates/text/text_template.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

constexpr const char* kTextDense = "dense(float32[7,40]MK,float32[100,40]NK)->float32";
constexpr const char* kTextBatch = "batch_matmul(float32[3,12,20]BMK,float32[3,50,20]BNK)->float32";

ScheduleText ReadSchedule(const std::string& name) {
  const std::string file = std::string(TILEWRIGHT_SOURCE_DIR) + "/docs/examples/schedules/" + name;
  const auto text = ReadFile(file);
  EXPECT_TRUE(text.ok()) << text.status().message();
  auto parsed = ParseScheduleText(text.ok() ? *text : "", name);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *std::move(parsed) : ScheduleText();
}

Workload TextWorkload(const std::string& key) {
  const auto workload = Workload::Parse(key);
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return workload.ok() ? *workload : Workload();
}

std::string TextLoops(const Result<Kernel>& kernel, const Target& target) {
  if (!kernel.ok()) return "refused";
  const auto program = Lower(kernel->schedule, "kernel", LowerLimitsFor(target));
  return program.ok() ? ToString(*program) : "not lowered";
}

/// Compares every config of a built-in template with the same values in the text.
void ExpectSameKernels(const std::string& key, const std::string& file, const std::string& task,
                       const std::string& target_text, const std::string& epilogue_text) {
  const ScheduleText text = ReadSchedule(file);
  const TemplateEntry mine = EntryOfText(text);
  const TemplateEntry* ours = BuiltInTemplates().Find(key);
  ASSERT_NE(ours, nullptr);
  const Workload w = TextWorkload(task);
  const auto target = Target::Parse(target_text);
  const auto epilogue = Epilogue::Parse(epilogue_text);
  ASSERT_TRUE(target.ok() && epilogue.ok());
  ASSERT_EQ(mine.refuses(w, *target), "");
  const auto our_space = ours->define_space(w, *target), space = mine.define_space(w, *target);
  ASSERT_TRUE(our_space.ok() && space.ok()) << space.status().message();
  int compared = 0;
  for (std::int64_t i = 0; i < our_space->size(); i += 3) {
    const Config config = our_space->At(i);
    const std::vector<std::int64_t>& tile = config.Factors("register_tile");
    const auto same = LocateValues(*space, {{"rows", KnobValue{tile[0]}},
                                            {"vectors", KnobValue{tile[1]}},
                                            {"k_unroll", KnobValue{config.Integer("k_unroll")}}});
    ASSERT_TRUE(same.ok()) << same.status().message();
    const auto theirs = ApplyTemplate(*ours, w, *epilogue, *target, config);
    const auto kernel = ApplyTemplate(mine, w, *epilogue, *target, *same);
    ASSERT_TRUE(theirs.ok() && kernel.ok()) << kernel.status().message();
    EXPECT_EQ(kernel->layouts, theirs->layouts);
    const std::string loops = TextLoops(kernel, *target);
    ASSERT_EQ(loops, TextLoops(theirs, *target)) << config.ToString();
    if (loops != "not lowered") ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(ScheduleTextTest, DenseIsTheTemplateOfOurs) {
  ExpectSameKernels("dense_packed.cpu", "dense_packed.tws", kTextDense,
                    "llvm -mcpu=skylake-avx512 -num-threads=4", "");
  ExpectSameKernels("dense_packed.cpu", "dense_packed.tws", kTextDense, "llvm -mcpu=core-avx2",
                    "add(channel:float32);relu");
}

TEST(ScheduleTextTest, BatchMatmulIsTheTemplateOfOurs) {
  ExpectSameKernels("batch_matmul_packed.cpu", "batch_matmul_packed.tws", kTextBatch,
                    "llvm -mcpu=skylake-avx512", "relu");
  ExpectSameKernels("batch_matmul_packed.cpu", "batch_matmul_packed.tws",
                    "batch_matmul(float32[2,8,3]BMK,float32[2,5,3]BNK)->float32",
                    "llvm -mcpu=core-avx2 -num-threads=2", "");
}

TEST(ScheduleTextTest, DefaultHoldsAndRuns) {
  const ScheduleText text = ReadSchedule("dense_packed.tws");
  const TemplateEntry entry = EntryOfText(text);
  const auto target = Target::Parse("llvm");
  const Workload w = TextWorkload(kTextDense);
  const auto config = entry.default_config(w, *target);
  ASSERT_TRUE(config.ok()) << config.status().message();
  const auto kernel = ApplyTemplate(entry, w, {}, *target, *config);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const AnchorData data = MakeAnchorData(w, {}, 1);
  const auto result = RunKernel(w, {}, *target, *kernel, data);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const TemplateEntry* plain = BuiltInTemplates().Find("anchor_plain.cpu");
  const auto other = ApplyTemplate(*plain, w, {}, *target, *plain->default_config(w, *target));
  const auto expected = RunKernel(w, {}, *target, *other, data);
  ASSERT_TRUE(expected.ok());
  for (std::int64_t i = 0; i < result->elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_NEAR(result->As<float>()[at], expected->As<float>()[at], 1e-4) << i;
  }
}

/// The text of a kernel reproduces it, for every template.
TEST(ScheduleTextTest, EveryTemplateIsWrittenAsText) {
  const std::vector<std::pair<const char*, const char*>> kCases = {
      {"llvm -mcpu=cascadelake -num-threads=4",
       "conv2d(float32[1,32,14,14]NCHW,float32[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"},
      {"llvm -mcpu=cascadelake",
       "conv2d(uint8[1,32,14,14]NCHW,int8[32,32,1,1]OIHW,s2x2,p0x0x0x0,d1x1,g1)->int32"},
      {"llvm -mcpu=cascadelake",
       "depthwise_conv2d(int8[1,32,14,14]NCHW,int8[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->int32"},
      {"llvm -mcpu=core-avx2",
       "depthwise_conv2d(float32[1,32,14,14]NCHW,float32[32,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g32)->"
       "float32"},
      {"llvm -mcpu=cascadelake", kTextDense},
      {"llvm -mcpu=core-avx2", kTextBatch},
      {"llvm -mcpu=cascadelake",
       "expression(input x0:float32[24,16];const x1:float32[20,16];t0[i0:24,i1:20]=sum(r0:16)"
       "x0[i0,r0]*x1[i1,r0])"},
      {"llvm -mcpu=cascadelake",  // reads its operands twice
       "expression(input x0:float32[64,16];input x1:float32[40,16];t0[i0:64,i1:40]=sum(r0:16)(x0["
       "i0,r0]-x1[i1,r0])*(x0[i0,r0]-x1[i1,r0]))"},
      {"llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -num-threads=2",
       "conv2d(float32[1,12,8,8]NCHW,float32[16,12,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"},
      {"opencl -device=mali",
       "conv2d(float32[1,12,8,8]NCHW,float32[16,12,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"},
      {"opencl -device=adreno",
       "conv2d(float32[1,12,8,8]NCHW,float32[16,12,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"},
      {"opencl -device=intel_graphics",
       "conv2d(float32[1,12,8,8]NCHW,float32[16,12,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"},
      {"cuda -arch=sm_80",
       "conv2d(float32[1,32,14,14]NCHW,float32[64,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"},
      {"cuda -arch=sm_80", "dense(float16[64,64]MK,float16[64,64]NK)->float32"},
      {"cuda -arch=sm_75", kTextBatch},
      {"cuda -arch=sm_80",
       "expression(input x0:float16[2,32,24];input x1:float16[2,32,16];t0[i0:2,i1:16,i2:24]=sum(r0:"
       "32)float32(x0[i0,r0,i2])*float32(x1[i0,r0,i1]);t1[i0:2,i1:16,i2:24]=max(t0[i0,i1,i2],0.0)"
       ")"},
      {"cuda -arch=sm_80",
       "expression(input "
       "x0:float32[6,50];t0[i0:6]=max(r0:50)x0[i0,r0];t1[i0:6,i1:50]=exp(x0[i0,i1]-"
       "t0[i0]);t2[i0:6]=sum(r0:50)t1[i0,r0];t3[i0:6,i1:50]=t1[i0,i1]/t2[i0])"},
  };
  Random random(7);
  std::map<std::string, int> written;
  for (const auto& [target_text, key] : kCases) {
    const auto target = Target::Parse(target_text);
    const Workload w = TextWorkload(key);
    for (const TemplateEntry* entry : BuiltInTemplates().For(w, *target)) {
      if (LibraryOfTemplate(entry->key) != nullptr) continue;
      const auto space = entry->define_space(w, *target);
      ASSERT_TRUE(space.ok());
      for (int i = 0; i < 4; ++i) {
        const auto index =
            static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size())));
        const auto kernel = ApplyTemplate(*entry, w, {}, *target, space->At(index));
        if (!kernel.ok()) continue;
        const auto text = TextOfKernel(*kernel, w, {}, *target, "mine");
        if (entry->key == "conv2d_NCHWc.intel_graphics" && !text.ok()) {
          // The data are padded for blocks that do not divide the result.
          EXPECT_EQ(text.status().message(),
                    "the template arranges what is computed in a way that no text can say");
          continue;
        }
        ASSERT_TRUE(text.ok()) << entry->key << " of " << key << ": " << text.status().message();
        ++written[std::string(entry->key)];
      }
    }
  }
  EXPECT_GT(written.size(), 22u);
  EXPECT_GT(written["auto.cuda/mma"], 0);  // its factors are transposed
  EXPECT_GT(written["conv2d_nchw_spatial_pack.arm_cpu"], 0);
  EXPECT_GT(written["conv2d_nchw_winograd.arm_cpu"], 0);
  EXPECT_GT(written["conv2d_nchw_winograd.mali"], 0);
  EXPECT_GT(written["conv2d_nchwc.image2d"], 0);
  EXPECT_GT(written["conv2d_NCHWc.intel_graphics"], 0);
}

TEST(ScheduleTextTest, NameIsThatOfTheCanonicalText) {
  const auto one = ParseScheduleText("schedule a for dense on llvm knob k = {1,2}# no\n x = 1+2*3");
  const auto two = ParseScheduleText("schedule a for dense on llvm\nknob k={1, 2}\nx=(1+(2*3))");
  const auto other = ParseScheduleText("schedule a for dense on llvm knob k = {1,3} x = 1+2*3");
  ASSERT_TRUE(one.ok() && two.ok() && other.ok()) << one.status().message();
  EXPECT_EQ(one->text, "schedule a for dense on llvm\nknob k = {1, 2}\nx = 1 + 2 * 3\n");
  EXPECT_EQ(one->key, two->key);
  EXPECT_NE(one->key, other->key);
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  const std::string key = one->key;
  ASSERT_TRUE(AddScheduleText(templates, *one).ok());
  ASSERT_TRUE(AddScheduleText(templates, *two).ok());
  ASSERT_NE(templates.TextOf(key), nullptr);
  const TemplateRegistry copy = templates;
  EXPECT_EQ(copy.Find(key)->version, kScheduleTextVersion);
}

struct WrongText {
  const char* text;
  const char* message;
};

TEST(ScheduleTextTest, WhatIsWrongIsToldWithItsPlace) {
  const std::string head = "schedule a for dense on llvm\n";
  for (const WrongText& wrong : std::vector<WrongText>{
           {"", "t:2:1: the end, expected a knob or a primitive"},
           {"knob rows = {1, 2", "t:2:18: the end, expected '}'"},
           {"knob rows = {1} knob rows = {2}", "t:2:22: there is a 'rows' already"},
           {"x = lane", "t:2:5: nothing has the name 'lane' yet"},
           {"lanes = 4", "t:2:1: 'lanes' is not a name that can be given"},
           {"a = split(1, 2)", "t:2:1: 1 names for what gives 2"},
           {"a, b = split(1)", "t:2:8: split takes 2 to 3 arguments, not 1"},
           {"s = stage(\"reduce\")\nknob k = {1}", "t:3:1: a knob behind the first primitive"},
           {"knob a = {1} knob b = range(1, a)", "t:2:23: values of a knob that depends on a knob"},
           {"if 1 { knob a = {1} }", "t:2:8: a knob inside of a block"},
           {"parallel(1) + 2", "t:2:1: 0 names for what gives 1"},
           {"x = 99999999999999999999", "expected a number of 64 bits"},
           {"x = \"a", "t:2:5: a text without its second"},
           {"x = 1 $ 2", "t:2:7: character 36 has no meaning here"},
       }) {
    const auto parsed = ParseScheduleText(head + wrong.text, "t");
    ASSERT_FALSE(parsed.ok()) << wrong.text;
    EXPECT_THAT(parsed.status().message(), testing::HasSubstr(wrong.message)) << wrong.text;
  }
  const auto device = ParseScheduleText("schedule a for dense on vta", "t");
  EXPECT_THAT(device.status().message(),
              testing::HasSubstr("t:1:25: 'vta', expected llvm or cuda"));
}

/// An illegal primitive is rejected when it is applied, with its position.
TEST(ScheduleTextTest, IllegalPrimitivesAreRefused) {
  const std::string head = "schedule a for dense on llvm\ns = stage(\"reduce\")\n";
  for (const WrongText& wrong : std::vector<WrongText>{
           {"vectorize(reduced(s, 0))",
            "t:3:1: vectorize of stage 'reduce': loop 'k' is a reduction"},
           {"x = stage(\"output\")", "t:3:5: no stage 'output'"},
           {"a, b = split(axis(s, 0), 0)", "t:3:8: split of stage 'reduce': factor 0"},
           {"inline(s)", "t:3:1: compute_inline of stage 'reduce': it is a reduction"},
           {"x = axis(s, 5)", "t:3:5: axis of stage 'reduce': no spatial axis 5"},
           {"x = 1 / 0", "t:3:7: 1 / 0, expected a positive divisor"},
           {"x = 9223372036854775807 + 1", "does not fit 64 bits"},
           {"split = 1", "'=', expected '('"},
           {"parallel(s)", "t:3:10: expected a loop"},
           {"require 1 == 2 else \"never\"", "t:3:1: never"},
           {"if has(\"pad\") { x = 1 }\ny = x", "t:4:5: 'x' has no value here"},
       }) {
    const auto parsed = ParseScheduleText(head + wrong.text, "t");
    std::string message = parsed.ok() ? "" : parsed.status().message();
    if (parsed.ok()) {
      const TemplateEntry entry = EntryOfText(*parsed);
      const auto kernel = ApplyTemplate(entry, TextWorkload(kTextDense), {}, *Target::Parse("llvm"),
                                        ConfigSpace().At(0));
      ASSERT_FALSE(kernel.ok()) << wrong.text;
      message = kernel.status().message();
    }
    EXPECT_THAT(message, testing::HasSubstr(wrong.message)) << wrong.text;
  }
}

/// Huge, deeply nested and long texts are rejected at once.
TEST(ScheduleTextTest, HostileTextsAreRefused) {
  const std::string head = "schedule a for dense on llvm\n";
  const auto repeat = [](std::string_view part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  for (const std::string& text :
       {repeat("x = 1\n", 3000), "x = " + repeat("(", 30000), "x = " + repeat("-", 30000) + "1",
        repeat("if 1 {", 9000), "x = 1" + repeat(" + 1", 9000), "x = 1" + repeat(" * 1", 40),
        "x = " + repeat("min(1, ", 5000), repeat("a", 70000), repeat("knob k = {1} ", 100),
        "x = not " + repeat("not ", 9000)}) {
    EXPECT_FALSE(ParseScheduleText(head + text, "t").ok()) << text.substr(0, 40);
  }
  for (const char* text :
       {"knob k = range(1, 1000000000)", "knob k = splits(1000000000, 3)", "knob k = powers(0)",
        "knob k = divisors(0 - 1)", "knob k = thrifty(1000000000000, 10)", "knob k = {1, 1}"}) {
    const auto parsed = ParseScheduleText(head + text, "t");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    const TemplateEntry entry = EntryOfText(*parsed);
    const auto space = entry.define_space(TextWorkload(kTextDense), *Target::Parse("llvm"));
    EXPECT_FALSE(space.ok()) << text;
  }
  // Stages that read their input twice, inlined into one another.
  std::string doubled = "input x: float32[4]\nt0[i: 4] = x[i]\n", inlined = "";
  for (int i = 1; i < 40; ++i) {
    doubled += "t" + std::to_string(i) + "[i: 4] = t" + std::to_string(i - 1) + "[i] * t" +
               std::to_string(i - 1) + "[i]\n";
  }
  const auto expression = ParseExpression(doubled);
  ASSERT_TRUE(expression.ok()) << expression.status().message();
  const Workload w = Workload::FromExpression(*expression);
  for (std::size_t i = 0; i + 1 < w.expression.stages.size(); ++i) {
    inlined += "inline(stage(\"" + w.expression.stages[i].name + "\"))\n";
  }
  const auto parsed = ParseScheduleText("schedule a for expression on llvm\n" + inlined, "t");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const auto kernel =
      EntryOfText(*parsed).apply(w, {}, *Target::Parse("llvm"), ConfigSpace().At(0));
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.status().message(), testing::HasSubstr("would have more than 16384 parts"));
}

}  // namespace
}  // namespace tilewright
