// Products in tile registers (AMX): no CPU is needed that has them, since the tile instructions of
// the emitted code are replaced by functions (tests/templates/tile_machine.h).

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/files/locked_temp_dir.h"
#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/codegen/runtime_archive.h"
#include "src/runtime/loader.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/templates/limits.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"
#include "tests/templates/tile_machine.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr const char* kAmx = "llvm -mcpu=sapphirerapids";

/// Returns this machine with AMX, as a target. The code around the tiles can run here.
std::string HereWithAmx() {
  Target target = *Target::Parse("native");
  const std::string features = target.Option("mattr");
  return fmt::format("llvm -mcpu={} -mattr={}{}+amx-tile,+amx-int8,+amx-bf16",
                     target.Option("mcpu", "generic"), features, features.empty() ? "" : ",");
}

/// Runs kernels with tiles in memory while it lives.
class TileProducts : public testing::Test {
 protected:
  void SetUp() override {
    if (HostArchitecture() != "x86_64" || !FeaturesOf(*Target::Parse("native"))->avx2) {
      GTEST_SKIP() << "no x86-64 with AVX2";
    }
    MakeObjectsBy(&ObjectWithTileMachine);
    (void)TakeTileEvents();
  }
  void TearDown() override { MakeObjectsBy({}); }
};

struct TileCase {
  std::string key, workload, epilogue, target;
};

/// Returns a case with sizes around those of tiles.
TileCase Draw(Random& random) {
  const auto below = [&](int end) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(end)));
  };
  const auto pick = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[below(static_cast<int>(all.size()))]);
  };
  TileCase one;
  const std::string data = pick({"uint8", "int8", "bfloat16"});
  const bool bytes = data != "bfloat16";
  const std::string weight = bytes ? "int8" : data, sum = bytes ? "int32" : "float32";
  const int m = 4 + below(70), n = 1 + below(90), k = 1 + below(200), b = 1 + below(3);
  const int kind = below(4);
  if (kind == 0) {
    one.key = "dense_amx.cpu";
    one.workload = fmt::format("dense({}[{},{}]MK,{}[{},{}]NK)->{}", data, m, k, weight, n, k, sum);
  } else if (kind == 1) {
    one.key = "batch_matmul_amx.cpu";
    const bool columns = !bytes && below(2) == 1;
    one.workload =
        fmt::format("batch_matmul({}[{},{},{}]BMK,{}[{},{},{}]{})->{}", data, b, m, k, weight, b,
                    columns ? k : n, columns ? n : k, columns ? "BKN" : "BNK", sum);
  } else {
    one.key = "conv2d_amx.cpu";
    const int side = 7 + below(7), c = 16 + below(70), o = 16 + below(50);
    const bool wide = kind == 3;
    one.workload =
        fmt::format("conv2d({}[{},{},{},{}]NCHW,{}[{},{},{},{}]OIHW,s{},p{},d1x1,g1)->{}", data, b,
                    c, side, side + 1, weight, o, c, wide ? 3 : 1, wide ? 3 : 1,
                    pick({"1x1", "2x2"}), wide ? "1x1x1x1" : "0x0x0x0", sum);
  }
  one.epilogue = bytes ? pick({"", "relu", "add(channel:int32);relu",
                               "add(256);shift_right(9);clip(-127,127);cast(int8)"})
                       : pick({"", "add(channel:float32);relu"});
  one.target = HereWithAmx() + pick({"", " -num-threads=2"});
  return one;
}

void CheckProducts(const TileCase& one, Random& random) {
  SCOPED_TRACE(one.workload + " " + one.epilogue + " " + one.target);
  const Target target = *Target::Parse(one.target);
  const auto workload = Workload::Parse(one.workload);
  const auto epilogue = Epilogue::Parse(one.epilogue);
  ASSERT_TRUE(workload.ok() && epilogue.ok()) << workload.status().message();
  const TemplateEntry& entry = *BuiltInTemplates().Find(one.key);
  ASSERT_EQ(entry.refuses(*workload, target), "");
  const auto space = entry.define_space(*workload, target);
  ASSERT_TRUE(space.ok()) << space.status().message();
  Config config = *entry.default_config(*workload, target);
  if (random.Below(3) > 0) {
    config = space->At(
        static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size()))));
  }
  SCOPED_TRACE(config.ToString());
  const auto kernel = entry.apply(*workload, *epilogue, target, config);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const AnchorData data = MakeAnchorData(*workload, *epilogue, random.Below(1000));
  const auto result = RunKernel(*workload, *epilogue, target, *kernel, data);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const TileEvents events = TakeTileEvents();
  EXPECT_EQ(events.fault, "");
  EXPECT_GT(events.products, 0);
  EXPECT_GT(events.releases, 0);
  std::vector<const Tensor*> operands;
  for (const Tensor& operand : data.operands) operands.push_back(&operand);
  const auto expected = EvaluateAnchor(*workload, *epilogue, data.data, data.weight, operands);
  ASSERT_TRUE(expected.ok());
  if (result->dtype().is_integer()) {
    ASSERT_EQ(result->bytes(), expected->bytes());
    EXPECT_EQ(
        std::memcmp(result->data(), expected->data(), static_cast<std::size_t>(result->bytes())),
        0);
    return;
  }
  const Comparison comparison = Compare(*result, *expected);
  EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad << ", error "
                             << comparison.max_abs_error;
}

class RandomTileProducts : public TileProducts, public testing::WithParamInterface<int> {};

TEST_P(RandomTileProducts, EqualTheReference) {
  constexpr int kConfigs = 50;
  Random random(static_cast<std::uint64_t>(GetParam()));
  for (int i = 0; i < kConfigs && !HasFailure(); ++i) {
    const TileCase one = Draw(random);
    CheckProducts(one, random);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTileProducts, testing::Range(0, 6));

/// Returns the program of the default config.
Program ProgramOf(const char* key, const char* workload, const Target& target) {
  const TemplateEntry& entry = *BuiltInTemplates().Find(key);
  const Workload parsed = *Workload::Parse(workload);
  auto kernel = entry.apply(parsed, {}, target, *entry.default_config(parsed, target));
  TW_CHECK(kernel.ok(), kernel.status().message());
  auto program = Lower(kernel->schedule, "tw_kernel", LowerLimitsFor(target));
  TW_CHECK(program.ok(), program.status().message());
  return *std::move(program);
}

constexpr const char* kTileDense = "dense(uint8[64,256]MK,int8[128,256]NK)->int32";

TEST_F(TileProducts, AreConfiguredOnceInAFunction) {
  const Target target = *Target::Parse(HereWithAmx());
  const TemplateEntry& entry = *BuiltInTemplates().Find("dense_amx.cpu");
  const Workload workload = *Workload::Parse(kTileDense);
  const auto kernel = entry.apply(workload, {}, target, *entry.default_config(workload, target));
  ASSERT_TRUE(kernel.ok());
  ASSERT_TRUE(RunKernel(workload, {}, target, *kernel, MakeAnchorData(workload, {}, 1)).ok());
  const TileEvents events = TakeTileEvents();
  EXPECT_EQ(events.configurations, 1);
  EXPECT_EQ(events.releases, 1);
  EXPECT_EQ(events.products, 64 / 16 * 128 / 16 * 256 / 64);
}

/// Lines of assembly, and which of them are in a loop: between a label and a later jump to it.
struct Listing {
  std::vector<std::string> lines;
  std::vector<bool> in_loop;

  std::vector<std::size_t> With(const std::string& instruction) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find("\t" + instruction) != std::string::npos) found.push_back(i);
    }
    return found;
  }
};

Listing ListingOf(const std::string& assembly) {
  Listing listing;
  std::map<std::string, std::size_t> labels;
  std::istringstream text(assembly);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(".L") && line.find(':') != std::string::npos) {
      labels[line.substr(0, line.find(':'))] = listing.lines.size();
    }
    listing.lines.push_back(line);
  }
  listing.in_loop.assign(listing.lines.size(), false);
  for (std::size_t i = 0; i < listing.lines.size(); ++i) {
    if (!listing.lines[i].starts_with("\tj")) continue;
    const auto label = labels.find(listing.lines[i].substr(listing.lines[i].find(".L")));
    for (std::size_t j = label == labels.end() ? i : label->second; j < i; ++j) {
      listing.in_loop[j] = true;
    }
  }
  return listing;
}

TEST(TileCode, HasTheInstructionsOfItsTypesAndConfiguresOutsideOfLoops) {
  const std::pair<const char*, const char*> cases[] = {
      {kTileDense, "tdpbusd"},
      {"dense(int8[64,256]MK,int8[128,256]NK)->int32", "tdpbssd"},
      {"dense(bfloat16[64,256]MK,bfloat16[128,256]NK)->float32", "tdpbf16ps"}};
  const Target target = *Target::Parse(kAmx);
  for (const auto& [workload, product] : cases) {
    const auto assembly =
        Generate({ProgramOf("dense_amx.cpu", workload, target)}, target, Emit::kAssembly);
    ASSERT_TRUE(assembly.ok()) << assembly.status().message();
    const Listing listing = ListingOf(*assembly);
    const auto products = listing.With(product);
    ASSERT_GE(products.size(), 4U) << product;
    for (const std::size_t line : products) EXPECT_TRUE(listing.in_loop[line]);
    for (const char* once : {"ldtilecfg", "tilerelease"}) {
      const auto lines = listing.With(once);
      ASSERT_EQ(lines.size(), 1U) << once;
      EXPECT_FALSE(listing.in_loop[lines[0]]) << once;
    }
  }
}

TEST(TileCode, IsRefusedForOtherTargets) {
  const Program program = ProgramOf("dense_amx.cpu", kTileDense, *Target::Parse(kAmx));
  const auto object = Generate({program}, *Target::Parse("llvm -mcpu=znver4"), Emit::kObject);
  EXPECT_EQ(object.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(object.status().message(), HasSubstr("AMX"));
  const Workload workload = *Workload::Parse(kTileDense);
  for (const char* target : {"llvm -mcpu=znver4", "llvm -mcpu=cooperlake",
                             "llvm -mcpu=sapphirerapids -mattr=-amx-tile"}) {
    EXPECT_THAT(BuiltInTemplates().Find("dense_amx.cpu")->refuses(workload, *Target::Parse(target)),
                HasSubstr("AMX"));
  }
  const Target parts = *Target::Parse("llvm -mcpu=cooperlake -mattr=+amx-tile,+amx-int8");
  EXPECT_EQ(BuiltInTemplates().Find("dense_amx.cpu")->refuses(workload, parts), "");
  EXPECT_THAT(
      BuiltInTemplates()
          .Find("dense_amx.cpu")
          ->refuses(*Workload::Parse("dense(bfloat16[64,256]MK,bfloat16[128,256]NK)->float32"),
                    parts),
      HasSubstr("AMX"));
}

TEST(TileCode, IsTheDefaultFromFourRowsOn) {
  const Target target = *Target::Parse(kAmx);
  const auto first = [&](const char* workload) {
    return std::string(BuiltInTemplates().For(*Workload::Parse(workload), target).front()->key);
  };
  EXPECT_EQ(first(kTileDense), "dense_amx.cpu");
  EXPECT_EQ(first("dense(uint8[4,256]MK,int8[128,256]NK)->int32"), "dense_amx.cpu");
  EXPECT_NE(first("dense(uint8[1,256]MK,int8[128,256]NK)->int32"), "dense_amx.cpu");
  EXPECT_EQ(first("batch_matmul(bfloat16[2,40,64]BMK,bfloat16[2,64,40]BKN)->float32"),
            "batch_matmul_amx.cpu");
  EXPECT_EQ(first("conv2d(uint8[1,64,9,9]NCHW,int8[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32"),
            "conv2d_amx.cpu");
}

TEST(TileCode, SaysWhyACpuCannotRunIt) {
  const auto native = *FeaturesOf(*Target::Parse("native"));
  if (native.amx_int8) GTEST_SKIP() << "this CPU has AMX";
  const Target target = *Target::Parse(kAmx);
  const Program program = ProgramOf("dense_amx.cpu", kTileDense, target);
  const auto object = Generate({program}, target, Emit::kObject);
  ASSERT_TRUE(object.ok()) << object.status().message();
  auto folder = LockedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/kernel.so";
  const Status linked = LinkKernel(program, *object, target, path);
  ASSERT_TRUE(linked.ok()) << linked.message();
  const auto kernel = LoadKernel(path, program.name);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_NE(kernel->entry.prepare, nullptr);
  const char* problem = kernel->entry.prepare(nullptr, nullptr);
  ASSERT_NE(problem, nullptr);
  EXPECT_THAT(problem, HasSubstr("a CPU with AMX"));
  void* const arguments[3] = {};
  EXPECT_EQ(kernel->entry.run(arguments, nullptr, nullptr), TW_TILES_REFUSED);
}

}  // namespace
}  // namespace tilewright
