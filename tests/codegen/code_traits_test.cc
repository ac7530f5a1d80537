#include "src/codegen/code_traits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/base/strings.h"
#include "src/target/cpu.h"
#include "src/target/cpu_instruction_sets.h"
#include "src/target/known_cpus.h"

namespace tilewright {
namespace {

std::set<std::string> FeaturesFor(const std::string& target) {
  auto traits = TraitsOf(*Target::Parse(target));
  TW_CHECK(traits.ok(), traits.status().message());
  const auto list = Split(traits->features, ',');
  return {list.begin(), list.end()};
}

// HostCpuName uses this table because it does not link LLVM.
TEST(CodeTraits, InstructionSetsOfProcessorsAreThoseOfLlvm) {
  constexpr const char* kCpus[] = {
      "x86-64-v2",     "x86-64-v3",      "x86-64-v4",   "haswell",        "broadwell",
      "skylake",       "skylake-avx512", "cascadelake", "icelake-client", "icelake-server",
      "rocketlake",    "tigerlake",      "alderlake",   "raptorlake",     "sapphirerapids",
      "emeraldrapids", "graniterapids",  "znver1",      "znver2",         "znver3",
      "znver4",        "znver5"};
  std::set<std::string> named;
  for (const char* cpu : kCpus) {
    for (const std::string_view set : InstructionSetsOf(cpu)) named.emplace(set);
  }
  for (const char* cpu : kCpus) {
    const auto sets = InstructionSetsOf(cpu);
    const std::set<std::string> listed(sets.begin(), sets.end());
    std::set<std::string> resolved;
    for (const std::string& feature :
         FeaturesFor(std::string("llvm -mtriple=x86_64-linux-gnu -mcpu=") + cpu)) {
      if (named.contains(feature)) resolved.insert(feature);
    }
    EXPECT_EQ(listed, resolved) << cpu;
  }
}

TEST(CodeTraits, AttributesAreResolvedWithWhatTheyImply) {
  const auto features =
      FeaturesFor("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr=+avx512fp16,-bmi2");
  for (const char* implied : {"avx512fp16", "avx512bw", "avx2", "f16c"}) {
    EXPECT_TRUE(features.contains(implied)) << implied;
  }
  EXPECT_FALSE(features.contains("bmi2"));
}

TEST(CodeTraits, ThisMachineLacksNothingOfItsOwnTarget) {
  auto traits = TraitsOf(*Target::Parse("native"));
  ASSERT_TRUE(traits.ok()) << traits.status().message();
  EXPECT_EQ(MissingCpuFeature(traits->features), "");
}

TEST(CodeTraits, PointersAreTheTargets) {
  EXPECT_EQ(TraitsOf(*Target::Parse("llvm -mtriple=armv7l-linux-gnueabihf"))->pointer_bits, 32);
  EXPECT_EQ(TraitsOf(*Target::Parse("llvm -mtriple=aarch64-linux-gnu"))->pointer_bits, 64);
  EXPECT_EQ(TraitsOf(*Target::Parse("llvm -mtriple=no-such-machine")).status().code(),
            StatusCode::kUnsupported);
}

// The processor of a request is checked where no LLVM is linked.
TEST(CodeTraits, KnownProcessorsAreThoseOfLlvm) {
  for (const char* triple : {"x86_64-linux-gnu", "aarch64-linux-gnu", "armv7l-linux-gnueabihf"}) {
    auto target = Target::Parse(std::string("llvm -mtriple=") + triple);
    ASSERT_TRUE(target.ok());
    for (const std::string& cpu : KnownCpus(ArchitectureOf(*target))) {
      target->SetOption("mcpu", cpu);
      EXPECT_EQ(TraitsOf(*target).status().message().find("not a processor of"), std::string::npos)
          << cpu;
    }
  }
}

}  // namespace
}  // namespace tilewright
