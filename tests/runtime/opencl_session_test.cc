// The OpenCL device of this machine (PoCL, where it is installed).

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "src/runtime/opencl/session.h"
#include "tests/support/opencl.h"

namespace tilewright {
namespace {

constexpr const char* kTwice = R"(
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void twice(__global const float* restrict in, __global float* restrict out) {
  out[get_global_id(0)] = 2 * in[get_global_id(0)];
}
)";

class OpenClSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoOpenCl(); !why.empty()) GTEST_SKIP() << why;
    auto session = OpenClSession::Open(OpenClApi::kLibrary, 0);
    ASSERT_TRUE(session.ok()) << session.status().message();
    session_ = *std::move(session);
    values_.resize(64);
    std::iota(values_.begin(), values_.end(), 1.0F);
    auto memory = session_->Allocate(2 * kPart);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    memory_ = *std::move(memory);
    ASSERT_TRUE(session_->Write(memory_.address(), std::as_bytes(std::span(values_))).ok());
  }
  GridProgram LoadTwice() {
    auto program = session_->Load(kTwice, {{"twice", {8, 1, 1}, {8, 1, 1}, 0, {}}});
    TW_CHECK(program.ok(), program.status().message());
    program->SetArguments({memory_.address(), memory_.address() + kPart});
    return *std::move(program);
  }

  static constexpr std::int64_t kPart = 4096;
  std::unique_ptr<OpenClSession> session_;
  std::vector<float> values_;
  GridMemory memory_;
};

TEST_F(OpenClSessionTest, RunsAProgramOnPartsOfABuffer) {
  const GridProgram program = LoadTwice();
  ASSERT_TRUE(session_->Fill(memory_.address() + kPart, 0xFF, 300).ok());
  ASSERT_TRUE(session_->Enqueue(program).ok());
  ASSERT_TRUE(session_->Wait(10).ok());
  std::vector<float> results(values_.size());
  ASSERT_TRUE(
      session_->Read(memory_.address() + kPart, std::as_writable_bytes(std::span(results))).ok());
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], 2 * values_[i]);
  std::uint8_t after = 0;
  ASSERT_TRUE(
      session_->Read(memory_.address() + kPart + 256, std::as_writable_bytes(std::span(&after, 1)))
          .ok());
  EXPECT_EQ(after, 0xFF);
}

TEST_F(OpenClSessionTest, TimesCallsByTheDevicesClock) {
  GridProgram program = LoadTwice();
  for (const std::int64_t calls : {1, 100}) {
    const auto seconds = session_->Time(program, calls, 10);
    ASSERT_TRUE(seconds.ok()) << seconds.status().message();
    EXPECT_GT(*seconds, 0);
    EXPECT_LT(*seconds, 10);
  }
}

TEST_F(OpenClSessionTest, ReportsTheCompilersWordsAndMissingKernels) {
  const auto broken = session_->Load("__kernel void twice() { no_such_thing; }", {{"twice"}});
  EXPECT_EQ(broken.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(broken.status().message().find("no_such_thing"), std::string::npos)
      << broken.status().message();
  EXPECT_EQ(broken.status().message().find('\n'), std::string::npos);
  EXPECT_EQ(session_->Load(kTwice, {{"thrice"}}).status().message(),
            "the program has no kernel thrice");
  EXPECT_EQ(session_->fault(), GridFault::kNone);
}

TEST_F(OpenClSessionTest, ALaunchThatTheDeviceRefusesIsAnErrorOfThisCallOnly) {
  auto program = session_->Load(kTwice, {{"twice", {1, 1, 1}, {16, 1, 1}, 0, {}}});
  ASSERT_TRUE(program.ok());
  program->SetArguments({memory_.address(), memory_.address() + kPart});
  EXPECT_EQ(session_->Enqueue(*program).message(),
            "twice: clEnqueueNDRangeKernel: invalid work group size (-54)");
  EXPECT_EQ(session_->fault(), GridFault::kNone);
  EXPECT_TRUE(session_->Enqueue(LoadTwice()).ok());
}

TEST_F(OpenClSessionTest, AnAddressOutsideOfAnyBufferIsRefused) {
  EXPECT_EQ(session_->Fill(memory_.address() + 2 * kPart, 0, 1).code(),
            StatusCode::kInvalidArgument);
  const std::uint64_t freed = [&] {
    auto other = session_->Allocate(16);
    return other->address();
  }();
  EXPECT_EQ(session_->Fill(freed, 0, 1).code(), StatusCode::kInvalidArgument);
}

constexpr const char* kThroughImage = R"(
__constant sampler_t nearest =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
__kernel void first(__global const float* in, __global float* out, __write_only image2d_t image) {
  int i = get_global_id(0);
  write_imagef(image, (int2)(i % 4, i / 4), vload4(i, in));
}
__kernel void first_1(__global const float* in, __global float* out, __read_only image2d_t image) {
  int i = get_global_id(0);
  vstore4(read_imagef(image, nearest, (int2)(i % 4, i / 4)), i, out);
}
)";
const std::vector<GridLaunch> kImageLaunches = {{"first", {2, 1, 1}, {8, 1, 1}, 0, {}},
                                                {"first_1", {2, 1, 1}, {8, 1, 1}, 0, {}}};

TEST_F(OpenClSessionTest, WorkspacesThatTheSourceDeclaresAreImages) {
  auto program = session_->Load(std::string("// tw_image first 2 4 4 float\n") + kThroughImage,
                                kImageLaunches);
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto workspace = session_->Allocate(256);
  ASSERT_TRUE(workspace.ok());
  program->SetArguments({memory_.address(), memory_.address() + kPart, workspace->address()});
  ASSERT_TRUE(session_->Enqueue(*program).ok());
  ASSERT_TRUE(session_->Wait(10).ok());
  std::vector<float> results(values_.size());
  ASSERT_TRUE(
      session_->Read(memory_.address() + kPart, std::as_writable_bytes(std::span(results))).ok());
  EXPECT_EQ(results, values_);
}

TEST_F(OpenClSessionTest, DeclarationsOfImagesAreChecked) {
  const auto refusal = [&](const std::string& declaration) {
    auto program =
        session_->Load("// tw_image " + declaration + "\n" + kThroughImage, kImageLaunches);
    if (!program.ok()) return program.status().message();
    auto workspace = session_->Allocate(256);
    program->SetArguments({memory_.address(), memory_.address() + kPart, workspace->address()});
    return session_->Enqueue(*program).message();
  };
  for (const char* malformed :
       {"first 2 4 float", "first 2 0 4 float", "first 2 4 4 bytes", "first 2 4 4 float more",
        "first 2 -4 4 float", "first 5000 4 4 half", "first 2 4 99999999 half"}) {
    EXPECT_EQ(refusal(malformed), "the source declares an image that is none") << malformed;
  }
  EXPECT_EQ(refusal("first 2 4 5 float"),
            "image of 4 x 5 texels for argument 2, which has no place for it");
  EXPECT_EQ(refusal("first 3 4 4 float"),
            "image of 4 x 4 texels for argument 3, which has no place for it");
  EXPECT_EQ(refusal("first 2 4 4 half"), "");
}

TEST(OpenCl, AMissingLibraryIsNotFoundAndItsDevicesAreThose) {
  EXPECT_EQ(OpenClApi::Open("libno_such_opencl.so").status().message(),
            "no OpenCL: libno_such_opencl.so cannot be loaded");
  if (const std::string why = WhyNoOpenCl(); !why.empty()) GTEST_SKIP() << why;
  const auto devices = OpenClDevices();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  const DeviceFingerprint fingerprint = FingerprintOf(devices->front());
  EXPECT_EQ(fingerprint.kind, "opencl");
  EXPECT_FALSE(fingerprint.model.empty());
  EXPECT_NE(fingerprint.extra.find("driver "), std::string::npos);
  EXPECT_GT(devices->front().work_group_size, 0);
  EXPECT_EQ(OpenClSession::Open(OpenClApi::kLibrary, 1000).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tilewright
