// Random models, from the bytes of the file to the running library. The program random_models
// checks more of them.

#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/target/device.h"
#include "tests/support/built_in.h"
#include "tests/support/check_model.h"
#include "tests/support/random_model.h"

namespace tilewright {
namespace {

TEST(RandomModels, ComputeWhatTheReferenceDoes) {
  auto folder = ScopedTempDir::Create("tilewright-random-models");
  ASSERT_TRUE(folder.ok());
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("native");
  options.device = ProbeHostCpu();
  options.name = "random";
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ModelCheck check = CheckModel(RandomModel(seed), options, folder->path());
    EXPECT_EQ(check.outcome, ModelOutcome::kRight) << "seed " << seed << ": " << check.message;
  }
}

}  // namespace
}  // namespace tilewright
