// Calls of a library that is missing or reports an error. The conformance tests of templates check
// the library's results.

#include "src/runtime/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "src/target/library.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

TwLibraryCall Product(const char* file) {
  TwLibraryCall call{file, "dense of a test", nullptr, {}};
  call.shape.kind = TW_LIBRARY_MATMUL;
  call.shape.data_type = call.shape.weight_type = call.shape.result_type = TW_LIBRARY_F32;
  call.shape.n = 1, call.shape.h = 2, call.shape.c = 3, call.shape.k = 2;
  call.shape.r = call.shape.s = call.shape.groups = call.shape.constant_weight = 1;
  return call;
}

TEST(LibraryCall, SaysWhatIsMissingAndFails) {
  TwLibraryCall call = Product("libno_such_library.so.1");
  EXPECT_THAT(TwLibraryPrepare(&call, nullptr, 1, nullptr),
              testing::AllOf(HasSubstr("dense of a test"), HasSubstr("libno_such_library.so.1"),
                             HasSubstr("not on this machine")));
  TwLibraryCall path = Product("/tmp/libdnnl.so.2");
  EXPECT_THAT(TwLibraryPrepare(&path, nullptr, 1, nullptr), HasSubstr("a path, expected"));
  float result = 0, data = 0, weight = 0;
  EXPECT_EQ(TwLibraryRun(&call, &result, &data, &weight, nullptr), TW_LIBRARY_FAILED);
  TwLibraryForget();
  EXPECT_EQ(call.state, nullptr);
}

class PresentLibrary : public testing::Test {
 protected:
  void SetUp() override {
    const auto version = LibraryVersion(*FindLibrary("dnnl"));
    if (!version.ok()) GTEST_SKIP() << version.status().message();
  }
  void TearDown() override { TwLibraryForget(); }

  /// Outlives the test's body: unloading writes to it.
  const std::string file_ = std::string(FileOf(*FindLibrary("dnnl")));
  TwLibraryCall call_ = Product(file_.c_str());
};

TEST_F(PresentLibrary, KeepsAWeightUntilItIsToldToForget) {
  alignas(64) float data[] = {1, 2, 3, 4, 5, 6}, weight[] = {1, 0, 0, 0, 1, 1}, result[4] = {};
  void* const arguments[] = {data, weight, result};
  ASSERT_EQ(TwLibraryPrepare(&call_, arguments, 1, nullptr), nullptr);
  ASSERT_EQ(TwLibraryRun(&call_, result, data, weight, nullptr), 0);
  EXPECT_THAT(result, testing::ElementsAre(1, 5, 4, 11));
  weight[0] = 2;
  TwLibraryForget();
  ASSERT_EQ(TwLibraryRun(&call_, result, data, weight, nullptr), 0);
  EXPECT_THAT(result, testing::ElementsAre(2, 5, 8, 11));
}

// Of one product and of several, whose descriptors have one dimension more.
TEST_F(PresentLibrary, ReadsColumnsThatAreNextToEachOther) {
  call_.shape.constant_weight = 0, call_.shape.weight_columns = 1;
  alignas(64) float data[] = {1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0};
  alignas(64) float weight[] = {1, 0, 0, 1, 0, 1, 7, 8, 9, 10, 11, 12}, result[8] = {};
  ASSERT_EQ(TwLibraryRun(&call_, result, data, weight, nullptr), 0);
  EXPECT_THAT(result, testing::ElementsAre(1, 5, 4, 11, 0, 0, 0, 0));
  TwLibraryForget();
  call_.shape.n = 2;
  ASSERT_EQ(TwLibraryRun(&call_, result, data, weight, nullptr), 0);
  EXPECT_THAT(result, testing::ElementsAre(1, 5, 4, 11, 7, 8, 9, 10));
}

// If an environment variable disables instruction sets of the target, the library does not use
// them.
TEST_F(PresentLibrary, RefusesBytesWithoutTheirInstructions) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the library reads its environment once
  const auto prepare = [&] {
    ::setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
    TwLibraryCall call = Product(file_.c_str());
    call.shape.data_type = TW_LIBRARY_U8, call.shape.weight_type = TW_LIBRARY_S8;
    call.shape.result_type = TW_LIBRARY_S32;
    const char* words = TwLibraryPrepare(&call, nullptr, 1, nullptr);
    const bool refused = words != nullptr && std::string(words).find("VNNI") != std::string::npos;
    ::_exit(refused ? 0 : 1);
  };
  EXPECT_EXIT(prepare(), testing::ExitedWithCode(0), "");
}

TEST_F(PresentLibrary, SaysWhatItHasNoCodeFor) {
  call_.shape.weight_type = TW_LIBRARY_S32;
  EXPECT_THAT(TwLibraryPrepare(&call_, nullptr, 1, nullptr),
              testing::AllOf(HasSubstr("dense of a test"), HasSubstr(file_)));
}

}  // namespace
}  // namespace tilewright
