// Sizes and default configs of the spaces of typical workloads. A change here changes the meaning
// of indices: it needs a new version of the template.

#include <gtest/gtest.h>

#include "src/schedule/summary.h"
#include "src/templates/registry.h"
#include "src/templates/space_values.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

struct SpaceCase {
  const char* name;
  const char* template_key;
  const char* target;
  const char* workload;
  std::int64_t size;
  const char* default_config;
};

constexpr const char* kSkylakeX = "llvm -mcpu=skylake-avx512";
constexpr const char* kCascadeLake = "llvm -mcpu=cascadelake";
constexpr const char* kZen4 = "llvm -mcpu=znver4";
constexpr const char* kHaswell = "llvm -mcpu=core-avx2";
constexpr const char* kConv3x3 =
    "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";
constexpr const char* kConv1x1 =
    "conv2d(float32[1,64,56,56]NCHW,float32[128,64,1,1]OIHW,s2x2,p0x0x0x0,d1x1,g1)->float32";
constexpr const char* kFlat =
    "conv2d(float32[1,64,14,14]NCHW,float32[384,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32";
constexpr const char* kBytes =
    "conv2d(uint8[1,64,56,56]NCHW,int8[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
constexpr const char* kDepthwise =
    "depthwise_conv2d(float32[1,96,112,112]NCHW,float32[96,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g96)->"
    "float32";
constexpr const char* kGroups =
    "group_conv2d(float32[1,256,28,28]NCHW,float32[256,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->float32";
constexpr const char* kDense = "dense(float32[1,512]MK,float32[1000,512]NK)->float32";
constexpr const char* kFewColumns = "dense(float32[1,4096]MK,float32[10,4096]NK)->float32";
constexpr const char* kRows = "dense(float32[4,512]MK,float32[1000,512]NK)->float32";

constexpr SpaceCase kCases[] = {
    {"NchwcConv", "conv2d_NCHWc.x86", kSkylakeX, kConv3x3, 784,
     R"({"index":718,"values":{"tile_ic":[4,16],"tile_oc":[4,16],"tile_ow":[2,28],"unroll_kw":false}})"},
    {"NchwcPointwise", "conv2d_NCHWc.x86", kSkylakeX, kConv1x1, 672,
     R"({"index":312,"values":{"tile_ic":[4,16],"tile_oc":[8,16],"tile_ow":[1,28],"tile_oh":1}})"},
    {"NchwcConvAvx2", "conv2d_NCHWc.x86", kHaswell, kConv3x3, 784,
     R"({"index":710,"values":{"tile_ic":[8,8],"tile_oc":[8,8],"tile_ow":[2,28],"unroll_kw":false}})"},
    {"NchwcBytes", "conv2d_NCHWc_int8.x86", kCascadeLake, kBytes, 240,
     R"({"index":212,"values":{"tile_ic":[4,16],"tile_oc":[4,16],"tile_ow":[2,28],"unroll_kw":false}})"},
    {"NchwcDepthwise", "depthwise_conv2d_NCHWc.x86", kSkylakeX, kDepthwise, 2304,
     R"({"index":2107,"values":{"tile_ic":[6,16],"tile_oc":[6,16],"tile_ow":[2,28],"unroll_kw":false}})"},
    {"DenseNopack", "dense_nopack.x86", kHaswell, kRows, 480,
     R"({"index":194,"values":{"tile_y":[1,4],"tile_x":[1000,1],"tile_k":[32,16]}})"},
    {"DensePack", "dense_pack.x86", kSkylakeX, kRows, 6000,
     R"({"index":431,"values":{"tile_y":[1,1,4],"tile_x":[5,8,25],"tile_k":[512,1]}})"},
    {"DepthwisePixelsOfLongRows", "depthwise_pixels.cpu", kSkylakeX,
     "depthwise_conv2d(float32[1,96,16,48]NCHW,float32[96,1,1,51]OIHW,s1x1,p0x25x0x25,d1x1,g96)->"
     "float32",
     60, R"({"index":43,"values":{"register_tile":[3,3],"unroll_kh":true,"pad":"channel"}})"},
    {"DirectConv", "conv2d_direct.cpu", kSkylakeX, kConv3x3, 10500,
     R"({"index":9088,"values":{"register_tile":[2,1,14],"pass_tiles":56,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"skip"}})"},
    {"DirectConvAvx2", "conv2d_direct.cpu", kHaswell, kConv3x3, 3696,
     R"({"index":3229,"values":{"register_tile":[2,1,6],"pass_tiles":56,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"skip"}})"},
    {"DirectFlat", "conv2d_direct.cpu", kSkylakeX, kFlat, 3080,
     R"({"index":2136,"values":{"register_tile":[2,1,14],"pass_tiles":196,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"copy"}})"},
    // With one 512-bit multiply-add per cycle, few sums are enough, and there are enough loads for
    // all of them.
    {"DirectFlatOfSplitVectors", "conv2d_direct.cpu", kZen4, kFlat, 3080,
     R"({"index":2115,"values":{"register_tile":[1,1,11],"pass_tiles":196,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"copy"}})"},
    {"HalfBlocks", "conv2d_half_blocks.cpu", kZen4,
     "conv2d(float32[1,144,56,56]NCHW,float32[24,144,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
     2870,
     R"({"index":2008,"values":{"register_tile":[3,1,9],"pass_tiles":3136,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"copy"}})"},
    {"DirectGroupsOfOneBlock", "conv2d_direct.cpu", kSkylakeX,
     "group_conv2d(float32[1,512,14,14]NCHW,float32[512,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->"
     "float32",
     600,
     R"({"index":519,"values":{"register_tile":[1,2,14],"pass_tiles":14,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"skip"}})"},
    {"DirectGroupsInOneBlock", "conv2d_direct.cpu", kSkylakeX, kGroups, 216,
     R"({"index":51,"values":{"register_tile":[1,1,10],"pass_tiles":28,"ic_unroll":8,"unroll_kw":false,"channels_first":true,"pad":"copy"}})"},
    // 28 columns are vectors of 16, 8 and 4: three rows of them and four channels would spill.
    {"PixelsOfOddColumns", "conv2d_pixels.cpu", kSkylakeX, kGroups, 240,
     R"({"index":56,"values":{"register_tile":[4,2,2],"ic_unroll":4,"unroll_kw":false,"pixels_first":false}})"},
    {"DirectBytes", "conv2d_direct_int8.cpu", kCascadeLake, kBytes, 6300,
     R"({"index":5588,"values":{"register_tile":[2,1,14],"pass_tiles":56,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"skip"}})"},
    {"DirectBytesInPairs", "conv2d_direct_int8.cpu", kHaswell, kBytes, 1344,
     R"({"index":445,"values":{"register_tile":[2,1,6],"pass_tiles":56,"ic_unroll":2,"unroll_kw":false,"channels_first":true,"pad":"copy"}})"},
    {"DirectDepthwise", "depthwise_direct.cpu", kSkylakeX, kDepthwise, 1302,
     R"({"index":1061,"values":{"register_tile":[1,14],"pass_tiles":56,"unroll_kh":true,"pad":"skip"}})"},
    {"DirectDepthwiseOfSplitVectors", "depthwise_direct.cpu", kZen4, kDepthwise, 1302,
     R"({"index":1058,"values":{"register_tile":[1,8],"pass_tiles":56,"unroll_kh":true,"pad":"skip"}})"},
    {"DepthwiseTaps", "depthwise_taps_int8.cpu", kCascadeLake,
     "depthwise_conv2d(uint8[1,384,14,14]NCHW,int8[384,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g384)->int32",
     310, R"({"index":301,"values":{"register_tile":[4,4],"pass_tiles":14,"pad":"skip"}})"},
    {"Winograd", "conv2d_winograd.cpu", kSkylakeX, kConv3x3, 2088,
     R"({"index":1324,"values":{"tile":4,"register_tile":[2,7],"ic_unroll":2,"channels_first":true,"data":"rows"}})"},
    {"WinogradOfSixThreads", "conv2d_winograd.cpu", "llvm -mcpu=skylake-avx512 -num-threads=6",
     "conv2d(float32[1,128,28,28]NCHW,float32[128,128,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     1800,
     R"({"index":688,"values":{"tile":4,"register_tile":[2,9],"ic_unroll":2,"channels_first":false,"data":"all"}})"},
    {"WinogradOfFarWeights", "conv2d_winograd.cpu", "llvm -mcpu=znver4 -num-threads=2",
     "conv2d(float32[1,256,14,14]NCHW,float32[256,256,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     1440,
     R"({"index":544,"values":{"tile":4,"register_tile":[2,8],"ic_unroll":2,"channels_first":false,"data":"all"}})"},
    // No number of channels from 2 to 17 divides 73: the last tile of 9 is one of 1.
    {"PixelsOfPrimeChannels", "conv2d_pixels.cpu", kZen4,
     "conv2d(float32[1,192,19,19]NCHW,float32[73,192,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32", 294,
     R"({"index":139,"values":{"register_tile":[9,1,3],"ic_unroll":4,"unroll_kw":false,"pixels_first":false}})"},
    {"DirectDepthwiseOfHalves", "depthwise_direct.cpu", kZen4,
     "depthwise_conv2d(float16[1,96,37,37]NCHW,float16[96,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g96)->"
     "float16",
     1260,
     R"({"index":184,"values":{"register_tile":[1,8],"pass_tiles":37,"unroll_kh":true,"pad":"copy"}})"},
    {"ColumnsOfOneRow", "batch_matmul_columns.cpu", kZen4,
     "batch_matmul(float32[12,1,257]BMK,float32[12,257,64]BKN)->float32", 30,
     R"({"index":8,"values":{"register_tile":[1,4],"k_unroll":4,"copied":0}})"},
    {"ColumnsOfWords", "batch_matmul_columns.cpu", kZen4,
     "batch_matmul(int16[2,9,7]BMK,int16[2,7,37]BKN)->int32", 150,
     R"({"index":118,"values":{"register_tile":[9,2],"k_unroll":4,"copied":1}})"},
    {"DensePacked", "dense_packed.cpu", kSkylakeX, kDense, 60,
     R"({"index":31,"values":{"register_tile":[1,8],"k_unroll":4}})"},
    {"DenseThin", "dense_thin.cpu", "llvm -mcpu=skylake-avx512 -num-threads=2", kFewColumns, 48,
     R"({"index":27,"values":{"parts":2,"step":32,"register_tile":[1,5]}})"},
    {"DenseThinOfFourRows", "dense_thin.cpu", "llvm -mcpu=core-avx2",
     "dense(float32[4,64]MK,float32[100,64]NK)->float32", 63,
     R"({"index":60,"values":{"parts":1,"step":8,"register_tile":[4,3]}})"},
    {"DenseThinOfManyRows", "dense_thin.cpu", "llvm -mcpu=core-avx2",
     "dense(float32[40,24]MK,float32[36,24]NK)->float32", 27,
     R"({"index":20,"values":{"parts":1,"step":8,"register_tile":[4,3]}})"},
};

class SpaceTest : public testing::TestWithParam<SpaceCase> {};

TEST_P(SpaceTest, SizeAndDefaultConfigStay) {
  const SpaceCase& c = GetParam();
  const TemplateEntry* entry = BuiltInTemplates().Find(c.template_key);
  ASSERT_NE(entry, nullptr);
  const Target target = *Target::Parse(c.target);
  auto workload = Workload::Parse(c.workload);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(entry->refuses(*workload, target), "");
  auto space = entry->define_space(*workload, target);
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->size(), c.size);
  auto config = entry->default_config(*workload, target);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->ToString(), c.default_config);
  EXPECT_TRUE(entry->apply(*workload, {}, target, *config).ok());
}
INSTANTIATE_TEST_SUITE_P(Typical, SpaceTest, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(TemplatesForTest, PrefersOurOwnAndServesEveryAnchor) {
  const Target target = *Target::Parse(kCascadeLake);
  const auto first = [&target](const char* key) {
    const auto entries = BuiltInTemplates().For(*Workload::Parse(key), target);
    return entries.empty() ? std::string() : std::string(entries.front()->key);
  };
  EXPECT_EQ(first(kConv3x3), "conv2d_winograd.cpu");
  EXPECT_EQ(first(kFlat), "conv2d_direct.cpu");
  EXPECT_EQ(first("conv2d(float32[1,512,7,7]NCHW,float32[512,512,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)"
                  "->float32"),
            "conv2d_winograd.cpu");
  EXPECT_EQ(first("conv2d(float32[1,512,4,4]NCHW,float32[512,512,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)"
                  "->float32"),
            "conv2d_direct.cpu")
      << "weights that are read for four tiles only";
  EXPECT_EQ(first("conv2d(float32[1,64,3,3]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)"
                  "->float32"),
            "conv2d_direct.cpu")
      << "most products are with the border's zeros, which the direct one leaves out";
  EXPECT_EQ(first(kBytes), "conv2d_winograd_int8.cpu");
  EXPECT_EQ(first(kDepthwise), "depthwise_direct.cpu");
  EXPECT_EQ(first(kDense), "dense_packed.cpu");
  EXPECT_EQ(first(kFewColumns), "dense_thin.cpu") << "of a vector of columns six would be empty";
  EXPECT_EQ(first("batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32"),
            "batch_matmul_packed.cpu");
  EXPECT_EQ(first("batch_matmul(float32[3,2,32]BMK,float32[3,20,32]BNK)->float32"),
            "batch_matmul.x86");
  EXPECT_EQ(first("group_conv2d(float32[1,16,9,9]NCHW,float32[32,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,"
                  "g4)->float32"),
            "conv2d_pixels.cpu");
  EXPECT_EQ(
      first("conv2d_transpose(float32[1,8,5,5]NCHW,float32[8,12,4,4]IOHW,s2x2,p1x1x1x1,d1x1,g1,"
            "o0x0)->float32"),
      "anchor_plain.cpu");
  EXPECT_TRUE(BuiltInTemplates().For(*Workload::Parse(kDense), *Target::Parse("metal")).empty());
}

/// Returns the number of channel blocks by which the default config prefetches weights; 0: it does
/// not.
std::int64_t WeightDistance(const char* workload_key) {
  const Workload workload = *Workload::Parse(workload_key);
  const Target target = *Target::Parse(kZen4);
  const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_direct.cpu");
  const auto kernel = entry->apply(workload, {}, target, *entry->default_config(workload, target));
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  std::int64_t distance = 0;
  for (const Schedule::Step& step : kernel->schedule.steps()) {
    if (step.primitive == Schedule::Primitive::kPrefetch) distance = step.number;
  }
  return distance;
}

TEST(DirectConvTest, WeightsOfFewPixelsAreFetchedATileOfChannelsAhead) {
  EXPECT_EQ(WeightDistance("conv2d(float32[1,960,7,7]NCHW,float32[160,960,1,1]OIHW,s1x1,p0x0x0x0,"
                           "d1x1,g1)->float32"),
            60);
  EXPECT_EQ(WeightDistance(kFlat), 0) << "many pixels";
  EXPECT_EQ(WeightDistance("conv2d(float32[1,40,7,7]NCHW,float32[160,40,1,1]OIHW,s1x1,p0x0x0x0,"
                           "d1x1,g1)->float32"),
            0)
      << "blocks that are filled up";
}

TEST(TemplatesForTest, StrictOnesOnlyReorderSums) {
  const TemplateRegistry strict = BuiltInTemplates().OnlyReorderingSums();
  const Workload conv = *Workload::Parse(kConv3x3);
  EXPECT_EQ(strict.For(conv, *Target::Parse(kSkylakeX)).front()->key, "conv2d_direct.cpu");
  for (const char* target : {kSkylakeX, "cuda -libs=cudnn"}) {
    for (const TemplateEntry* entry : strict.For(conv, *Target::Parse(target))) {
      EXPECT_EQ(entry->key.find("winograd"), std::string::npos) << entry->key;
      EXPECT_NE(entry->key, "conv2d.cudnn");
    }
  }
  EXPECT_EQ(strict.Find("conv2d_winograd.cpu"), nullptr);
  EXPECT_EQ(TemplateUnavailableReason(strict, "conv2d_winograd.cpu", 2),
            "template conv2d_winograd.cpu does more to floats than to order sums another way");
}

struct RecordCase {
  const char* name;
  const char* template_key;
  const char* workload;
  std::int64_t index;
  const char* config;
};

/// Meaning of the indices of records in the public package for CUDA.
class CudaIndexTest : public testing::TestWithParam<RecordCase> {};

TEST_P(CudaIndexTest, IsThatOfAutotvm) {
  const RecordCase& c = GetParam();
  const TemplateEntry* entry = BuiltInTemplates().Find(c.template_key);
  ASSERT_NE(entry, nullptr);
  const Target target = *Target::Parse("cuda -model=v100");
  const Workload workload = *Workload::Parse(c.workload);
  EXPECT_EQ(entry->refuses(workload, target), "");
  auto space = entry->define_space(workload, target);
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->At(c.index), *Config::Parse(c.config));
}

INSTANTIATE_TEST_SUITE_P(
    Records, CudaIndexTest,
    testing::Values(
        RecordCase{
            "Conv", "conv2d_nchw.cuda",
            "conv2d(float32[1,384,72,32]NCHW,float32[128,384,5,3]OIHW,s1x1,p2x2x2x2,d1x1,g1)->"
            "float32",
            117158550,
            R"({"index":117158550,"values":{"tile_f":[4,1,32,1],"tile_y":[3,1,8,3],)"
            R"("tile_x":[17,2,1,1],"tile_rc":[192,2],"tile_ry":[1,5],"tile_rx":[1,3],)"
            R"("auto_unroll_max_step":512,"unroll_explicit":1}})"},
        RecordCase{
            "Depthwise", "depthwise_conv2d_nchw.cuda",
            "depthwise_conv2d(float32[1,64,112,112]NCHW,float32[64,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,"
            "g64)->float32",
            2346036,
            R"({"index":2346036,"values":{"tile_f":[64,1,1,1],"tile_y":[14,2,2,1],)"
            R"("tile_x":[1,1,56,1],"auto_unroll_max_step":256,"unroll_explicit":1}})"},
        RecordCase{
            "Winograd", "conv2d_nchw_winograd.cuda",
            "conv2d(float32[1,256,56,56]NCHW,float32[256,256,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->"
            "float32",
            332746,
            R"({"index":332746,"values":{"tile_b":[36,1,1,1],"tile_y":[2,1,32,4],)"
            R"("tile_x":[7,7,4,1],"tile_rc":[64,4],"auto_unroll_max_step":1500,)"
            R"("unroll_explicit":0}})"},
        RecordCase{
            "Transposed", "conv2d_transpose_nchw.cuda",
            "conv2d_transpose(float32[1,512,9,4]NCHW,float32[512,256,3,3]IOHW,s2x2,p1x1x1x1,d1x1,"
            "g1,o1x1)->float32",
            41477299,
            R"({"index":41477299,"values":{"tile_n":[1,1,1,1],"tile_f":[16,1,4,4],)"
            R"("tile_y":[1,1,18,1],"tile_x":[4,1,2,1],"tile_rc":[1,32,16],)"
            R"("auto_unroll_max_step":1500,"unroll_explicit":1,"fuse_yx":0}})"},
        RecordCase{"BatchMatmul", "batch_matmul.cuda",
                   "batch_matmul(float32[1,128,20]BMK,float32[1,128,20]BNK)->float32", 50881,
                   R"({"index":50881,"values":{"tile_y":[2,32,2],"tile_x":[32,2,2],)"
                   R"("tile_k":[4,5],"auto_unroll_max_step":32,"unroll_explicit":1}})"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(BalancedPassTest, IsTheLargestThatThreadsCanShare) {
  const std::vector<std::int64_t> sizes = {1, 2, 4, 7, 14, 28, 80};
  EXPECT_EQ(BalancedPass(sizes, 80, {1}, 1), 80);
  EXPECT_EQ(BalancedPass(sizes, 80, {1, 1}, 2), 80);  // one group each
  // 28 leaves 28 + 24 to one thread, 14 gives five passes of six and a short one: 42 and 38.
  EXPECT_EQ(BalancedPass(sizes, 80, {1}, 2), 4);
  EXPECT_EQ(BalancedPass(sizes, 28, {1}, 2), 14);
  EXPECT_EQ(BalancedPass({1, 2, 28}, 28, {2, 1}, 2), 2) << "groups of unlike work";
  EXPECT_EQ(BalancedPass({1}, 1, {1}, 8), 1) << "nothing to share";
}

/// One block of output channels: two threads can only share rows.
TEST(TemplatesTest, DefaultConfigsGiveEveryThreadWork) {
  for (const char* key :
       {"conv2d(float32[1,32,64,64]NCHW,float32[16,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
        "conv2d(int8[1,32,64,64]NCHW,int8[16,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
        "conv2d(float32[1,32,64,64]NCHW,float32[16,32,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
        "depthwise_conv2d(float32[1,16,64,64]NCHW,float32[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)"
        "->float32"}) {
    const auto workload = Workload::Parse(key);
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    for (const int threads : {1, 2, 3, 8}) {
      const auto target =
          Target::Parse("llvm -mcpu=skylake-avx512 -num-threads=" + std::to_string(threads));
      ASSERT_TRUE(target.ok());
      const TemplateEntry* entry = BuiltInTemplates().For(*workload, *target).front();
      const auto config = entry->default_config(*workload, *target);
      ASSERT_TRUE(config.ok()) << config.status().message();
      const auto kernel = ApplyTemplate(*entry, *workload, Epilogue(), *target, *config);
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      const auto summary = Summarize(kernel->schedule);
      ASSERT_TRUE(summary.ok());
      EXPECT_GE(ParallelEfficiency(*summary, threads), threads == 1 ? 1 : 0.88)
          << key << " on " << threads << ": " << config->ToString();
    }
  }
}

TEST(TemplatesTest, TilesThatNoRegisterHoldsAreRefused) {
  const Target target = *Target::Parse(kSkylakeX);
  const Workload workload = *Workload::Parse(kConv3x3);
  const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_NCHWc.x86");
  auto space = entry->define_space(workload, target);
  ASSERT_TRUE(space.ok());
  Config config = *entry->default_config(workload, target);
  config.values[1].second = KnobValue{std::vector<std::int64_t>{1, 64}};
  config.values[2].second = KnobValue{std::vector<std::int64_t>{1, 56}};
  config = *space->Locate(config);
  auto kernel = entry->apply(workload, {}, target, config);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().message(), "register tile of 224 vectors, the target has 32 registers");
}

/// Products whose sums neither bytes nor rows of K in whole vectors make: their default config is
/// the one with vectors along columns.
TEST(PreferredTemplateTest, ProductsOfOddSizesHaveVectors) {
  const Target target = *Target::Parse(kZen4);
  for (const char* key : {"batch_matmul(float32[2,3,37]BMK,float32[2,19,37]BNK)->float32",
                          "batch_matmul(float16[2,1,37]BMK,float16[2,37,19]BKN)->float16",
                          "batch_matmul(int16[2,9,7]BMK,int16[2,37,7]BNK)->int32",
                          "batch_matmul(int16[2,1,7]BMK,uint8[2,7,37]BKN)->int32"}) {
    const auto templates = BuiltInTemplates().For(*Workload::Parse(key), target);
    ASSERT_FALSE(templates.empty()) << key;
    EXPECT_EQ(templates.front()->key, "batch_matmul_columns.cpu") << key;
  }
  const auto rows = BuiltInTemplates().For(
      *Workload::Parse("batch_matmul(float32[2,3,32]BMK,float32[2,19,32]BNK)->float32"), target);
  EXPECT_EQ(rows.front()->key, "batch_matmul.x86");
  const auto column = BuiltInTemplates().For(
      *Workload::Parse("batch_matmul(float32[2,9,40]BMK,float32[2,1,40]BNK)->float32"), target);
  EXPECT_EQ(column.front()->key, "batch_matmul.x86");
}

}  // namespace
}  // namespace tilewright
