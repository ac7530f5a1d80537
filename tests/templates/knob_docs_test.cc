// The documentation of knobs: that of each template has exactly the knobs that its spaces have, and
// docs/knobs.md is made of it.

#include "src/templates/knob_docs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "tests/support/built_in.h"
#include "tests/templates/samples.h"

namespace tilewright {
namespace {

constexpr const char* kTargets[] = {"llvm -mcpu=znver4 -num-threads=2",
                                    "llvm -mcpu=core-avx2",
                                    "llvm -mcpu=sapphirerapids",
                                    "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu",
                                    "cuda -arch=sm_80",
                                    "cuda -arch=sm_80 -tf32",
                                    "opencl -device=mali",
                                    "opencl -device=adreno",
                                    "opencl -device=intel_graphics",
                                    "vta -model=sim_1x16_i8w8a32_15_15_18_17"};

// What kSamples lacks: workloads in a VTA's layouts, and expressions with a padded operand.
constexpr const char* kMoreWorkloads[] = {
    "group_conv2d(int8[1,2,7,7,1,16]NCHW1n16c,int8[2,1,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g2)-"
    ">"
    "int32",
    "conv2d_transpose(int8[1,2,4,4,1,16]NCHW1n16c,int8[2,2,4,4,16,16]OIHW16o16i,s2x2,p1x1x1x1,d1x1,"
    "g1,o0x0)->int32",
    "dense(int8[1,16,1,16]MK1m16k,int8[8,16,16,16]NK16n16k)->int32",
    "add(int8[1,4,6,6,1,16]NCHW1n16c,int8[1,4,6,6,1,16]NCHW1n16c)->int32",
    "mul(int32[1,4,6,6,1,16]NCHW1n16c,int8[1,4,6,6,1,16]NCHW1n16c)->int32",
    "identity(int8[1,4,6,6,1,16]NCHW1n16c)->int32",
    "max_pool2d(int8[1,4,12,12,1,16]NCHW1n16c,k3x3,s2x2,p1x1x1x1)->int8",
    "dense(int8[16,32]MK,int8[16,32]NK)->int32",
    "dense(float32[32,32]MK,float32[32,32]NK)->float32",
    "batch_matmul(float32[2,16,32]BMK,float32[2,16,32]BNK)->float32",
    "conv2d(float32[1,16,8,8]NCHW,float32[16,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
    "expression(input x0:float32[4,8,8];const x1:float32[8,4,3,3];"
    "t0[i0:4,i1:10,i2:10]=select(i2<9 and (1<=i1 and i1<9 and 1<=i2),x0[i0,i1-1,i2-1],0.0);"
    "t1[i0:8,i1:8,i2:8]=sum(r0:4,r1:3,r2:3)t0[r0,i1+r1,i2+r2]*x1[i0,r0,r1,r2])"};

std::vector<Workload> Workloads() {
  std::vector<const char*> texts(std::begin(kMoreWorkloads), std::end(kMoreWorkloads));
  for (const Sample& sample : kSamples) texts.push_back(sample.workload);
  std::vector<Workload> workloads;
  for (const char* text : texts) {
    auto workload = Workload::Parse(text);
    TW_CHECK(workload.ok(), std::string(text) + ": " + workload.status().message());
    workloads.push_back(*std::move(workload));
  }
  return workloads;
}

class KnobDocsOfTemplate : public testing::TestWithParam<std::string> {};

TEST_P(KnobDocsOfTemplate, AreThoseOfItsSpaces) {
  const TemplateEntry& entry = *BuiltInTemplates().Find(GetParam());
  std::set<const KnobDoc*> used;
  int spaces = 0;
  for (const char* text : kTargets) {
    const Target target = *Target::Parse(text);
    if (target.device() != entry.device) continue;
    for (const Workload& workload : Workloads()) {
      if (!entry.refuses(workload, target).empty()) continue;
      const auto space = entry.define_space(workload, target);
      ASSERT_TRUE(space.ok()) << space.status().message();
      ++spaces;
      for (const Knob& knob : space->knobs()) {
        const KnobDoc* doc = FindKnobDoc(entry, knob.name());
        EXPECT_NE(doc, nullptr) << knob.name() << " is not documented";
        used.insert(doc);
      }
    }
  }
  EXPECT_GT(spaces, 0) << "no workload is for " << entry.key;
  for (const KnobDoc& doc : entry.knobs) {
    EXPECT_TRUE(used.contains(&doc)) << doc.name << " is in no space";
    EXPECT_TRUE(doc.description.ends_with('.')) << doc.name;
    EXPECT_EQ(doc.description.find('|'), std::string_view::npos) << doc.name;
  }
}

std::vector<std::string> Keys() {
  std::vector<std::string> keys;
  for (const TemplateEntry& entry : BuiltInTemplates().all()) keys.emplace_back(entry.key);
  return keys;
}

INSTANTIATE_TEST_SUITE_P(Templates, KnobDocsOfTemplate, testing::ValuesIn(Keys()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(KnobDocsTest, NamesWithAnAxisStandForNumbers) {
  const TemplateEntry& entry = *BuiltInTemplates().Find("auto.cuda/tiles");
  ASSERT_NE(FindKnobDoc(entry, "tile_0"), nullptr);
  EXPECT_EQ(FindKnobDoc(entry, "tile_12"), FindKnobDoc(entry, "tile_0"));
  EXPECT_NE(FindKnobDoc(entry, "reduce_0"), FindKnobDoc(entry, "tile_0"));
  for (const char* name : {"tile_", "tile_x", "tile", "tile_<axis>1", ""}) {
    EXPECT_EQ(FindKnobDoc(entry, name), nullptr) << name;
  }
}

// TILEWRIGHT_REWRITE_GOLDEN=1 rewrites the page.
TEST(KnobDocsTest, AreThePageOfTheDocuments) {
  // tests/adding has a page of its own.
  const char* added = std::getenv("TILEWRIGHT_ADDED");
  const std::string path =
      std::string(added == nullptr ? TILEWRIGHT_SOURCE_DIR : added) + "/docs/knobs.md";
  if (std::getenv("TILEWRIGHT_REWRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFile(path, DescribeKnobs(BuiltInTemplates())).ok());
  }
  const auto page = ReadFile(path);
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(DescribeKnobs(BuiltInTemplates()), *page);
}

}  // namespace
}  // namespace tilewright
