#include "src/target/short_target.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(ShortTargetTest, NamesTargetsByWhatPeopleChoose) {
  struct Case {
    const char *target, *name;
  };
  for (const Case& c : {
           Case{"llvm -mattr=+avx2,+fma -mcpu=znver4", "llvm -mcpu=znver4"},
           Case{"llvm -mcpu=znver4 -num-threads=4", "llvm -mcpu=znver4 -num-threads=4"},
           Case{"llvm -mcpu=znver4 -num-threads=1", "llvm -mcpu=znver4"},
           Case{"llvm -mcpu=znver4 -libs=dnnl", "llvm -mcpu=znver4 -libs=dnnl"},
           Case{"cuda -arch=sm_80", "cuda -arch=sm_80"},
           Case{"cuda -model=1080ti", "cuda -model=1080ti"},
           Case{"opencl -device=adreno", "opencl -device=adreno"},
           Case{"opencl -model=unknown", "opencl"},
           Case{"llvm", "llvm"},
           Case{"no target at all (", "no target at all ("},
       }) {
    EXPECT_EQ(ShortTargetText(std::string_view(c.target)), c.name) << c.target;
  }
}

TEST(ShortTargetTest, TargetsWithOneShortNameAreToldApart) {
  const Target more = *Target::Parse("llvm -mcpu=znver4 -mattr=+avx2");
  const Target less = *Target::Parse("llvm -mcpu=znver4");
  const Target other = *Target::Parse("llvm -mcpu=skylake -mattr=+avx2");
  EXPECT_EQ(DistinctTargetText(more, less), more.ToString());
  EXPECT_EQ(DistinctTargetText(other, less), "llvm -mcpu=skylake");
}

}  // namespace
}  // namespace tilewright
