// Libraries for OpenCL on the first device of this machine (PoCL, where it is installed), and with
// the faults of a stand-in for its library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/compiler/bundle.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/plan/plan.h"
#include "src/runtime/loaded_model.h"
#include "tests/compiler/gpu_library_fixture.h"
#include "tests/support/fault_opencl.h"
#include "tests/support/opencl.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

class OpenClLibrary : public testing::Test, public GpuLibraryFixture {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork, "opencl")); }
};

TEST_F(OpenClLibrary, CarriesItsSourcesAndNeedsNoLibraryOfOpenCl) {
  const auto bytes = ReadFile(path());
  ASSERT_TRUE(bytes.ok());
  EXPECT_THAT(*bytes, HasSubstr("__kernel __attribute__((reqd_work_group_size("));
  EXPECT_THAT(*bytes, HasSubstr("libOpenCL.so.1"));
  EXPECT_THAT(*bytes, Not(HasSubstr("libcuda.so.1"))) << "the other driver's code is not linked";
  EXPECT_THAT(header_, HasSubstr("int32_t net_set_device(int32_t"));
  EXPECT_THAT(header_, HasSubstr("const char* net_message(void)"));
  EXPECT_THAT(header_, Not(HasSubstr("net_run_on_device("))) << "OpenCL has no addresses";
  const auto loaded = LoadModel(path());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->gpu.run_on_device, nullptr);
}

TEST_F(OpenClLibrary, SaysWhyItCannotRunWithoutADevice) {
  auto model = ModelLibrary::Open(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Status status = model->UseDevice("libno_such_driver.so", 0);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no OpenCL: libno_such_driver.so cannot be loaded"));
  EXPECT_THAT(model->UseDevice(FAKE_CUDA, 0).message(),
              HasSubstr("too old: it has no clGetPlatformIDs (OpenCL 1.2 has)"));
}

class OpenClLibraryOnDevice : public OpenClLibrary {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoOpenCl(); !why.empty()) GTEST_SKIP() << why;
    OpenClLibrary::SetUp();
  }
};

/// A network whose values live while others are computed: parts of the arena at several offsets.
class OpenClArena : public testing::Test, public GpuLibraryFixture {
 protected:
  static constexpr const char* kResiduals = R"(def @main(%data: Tensor[(5, 24), float32]) {
  %0 = nn.dense(%data, meta[relay.Constant][0] /* ty=Tensor[(24, 24), float32] */);
  %1 = nn.softmax(%0);
  %2 = nn.dense(%1, meta[relay.Constant][1] /* ty=Tensor[(24, 24), float32] */);
  %3 = nn.softmax(%2);
  %4 = add(%1, %3);
  %5 = nn.dense(%4, meta[relay.Constant][2] /* ty=Tensor[(24, 24), float32] */);
  %6 = nn.softmax(%5);
  %7 = add(%4, %6);
  nn.dense(%7, meta[relay.Constant][3] /* ty=Tensor[(24, 24), float32] */)
})";
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(Make(kResiduals, "opencl")); }

  /// Returns the offsets of a step's tensors in the arena, the result's last.
  static std::vector<std::int64_t> OffsetsOf(const Plan& plan, const PlanStep& step) {
    std::vector<std::int64_t> offsets;
    for (const int id : step.buffers) {
      const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(id)];
      if (buffer.space == BufferSpace::kArena) offsets.push_back(buffer.offset);
    }
    return offsets;
  }
  /// Returns true if two tensors of a step begin at one place of the arena.
  static bool SharesMemory(const Plan& plan, const PlanStep& step) {
    const auto offsets = OffsetsOf(plan, step);
    return std::set(offsets.begin(), offsets.end()).size() != offsets.size();
  }
};

TEST_F(OpenClArena, PartsBeginWhereEveryDeviceAllowsIt) {
  EXPECT_EQ(AlignmentOf(plan_->target) % 512, 0);
  std::set<std::int64_t> all;
  std::size_t most = 0;  // of one step
  for (const PlanStep& step : plan_->steps) {
    const auto offsets = OffsetsOf(*plan_, step);
    for (const std::int64_t offset : offsets) EXPECT_EQ(offset % AlignmentOf(plan_->target), 0);
    all.insert(offsets.begin(), offsets.end());
    most = std::max(most, offsets.size());
  }
  EXPECT_GE(all.size(), 3U) << "the network must have parts behind the arena's start";
  EXPECT_GE(most, 3U) << "and a kernel that takes several";
}

TEST_F(OpenClArena, NoKernelGetsOneTensorTwiceThroughRestrictPointers) {
  for (const PlanStep& step : plan_->steps) EXPECT_FALSE(SharesMemory(*plan_, step));
  CompileOptions options = options_;
  options.target = *Target::Parse("llvm");
  const auto on_cpu = MakeCheckedPlan(Load(), options);
  ASSERT_TRUE(on_cpu.ok()) << on_cpu.status().message();
  EXPECT_TRUE(std::ranges::any_of(on_cpu->steps, [&](const PlanStep& step) {
    return SharesMemory(*on_cpu, step);
  })) << "the network must have a result that may overwrite an operand";
}

class OpenClArenaOnDevice : public OpenClArena {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoOpenCl(); !why.empty()) GTEST_SKIP() << why;
    OpenClArena::SetUp();
  }
};

TEST_F(OpenClArenaOnDevice, KernelsTakePartsOfTheArena) {
  const ModelLibrary model = Open(OpenClApi::kLibrary);
  const auto report = Verify(*PartitionLike(Load(), model), model, Inputs(), {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
  for (int run = 0; run < 2; ++run) ExpectSame(model.Run(Inputs()), Expected());
}

TEST_F(OpenClArenaOnDevice, AFailureOfOpeningReleasesEverything) {
  for (const auto& [faults, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {"parts", ": clCreateSubBuffer: out of resources (-5)"},
           {"kernel@2", ": clCreateKernel: invalid kernel name (-46)"},
           {"argument@2", ": clSetKernelArg: out of resources (-5)"},
           {"build@2", ": clBuildProgram: build program failure (-11)"},
           {"memory", "clCreateBuffer of "}}) {
    auto model = ModelLibrary::Open(path());
    ASSERT_TRUE(model.ok()) << model.status().message();
    const OpenClFaults set(faults, folder_->path());
    const Status status = model->UseDevice(FAULT_OPENCL, 0);
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << faults << ": " << status.message();
    EXPECT_THAT(status.message(), HasSubstr(message)) << faults;
    EXPECT_EQ(LiveOpenClObjects(FAULT_OPENCL), 0) << faults;
  }
}

TEST_F(OpenClLibraryOnDevice, GivesWhatTheReferenceGives) {
  const ModelLibrary model = Open(OpenClApi::kLibrary);
  EXPECT_TRUE(model.on_gpu());
  const auto report = Verify(*PartitionLike(Load(), model), model, Inputs(), {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
  EXPECT_EQ(report->checks.size(), plan_->steps.size());
  for (int run = 0; run < 2; ++run) ExpectSame(model.Run(Inputs()), Expected());
  std::vector<double> seconds(model.operators().size());
  ASSERT_TRUE(model.RunTimed(Inputs(), seconds).ok());
  EXPECT_GT(seconds[0], 0) << "by the device's clock";
}

TEST_F(OpenClLibraryOnDevice, TakesItsConstantsFromABundleAndReopensAfterARelease) {
  ASSERT_TRUE(CompileBundle(Load(), options_, folder_->path() + "/bundle").ok());
  const std::string stem = folder_->path() + "/bundle/net";
  const auto library = SharedLibrary::Open(stem + ".so");
  ASSERT_TRUE(library.ok());
  const auto& functions =
      *static_cast<const TwModelFunctions*>(library->Symbol("tilewright_model"));
  const auto& on_gpu = *static_cast<const TwGpuFunctions*>(library->Symbol("tilewright_gpu_model"));
  const std::vector<Tensor> inputs = Inputs(), expected = Expected();
  std::vector<Tensor> outputs;
  std::vector<void*> places;
  for (const Tensor& tensor : expected) {
    places.push_back(outputs.emplace_back(tensor.type()).data());
  }
  const void* input = inputs[0].data();
  const auto run = [&] {
    return functions.run(functions.model, &input, places.data(), nullptr, nullptr);
  };
  EXPECT_EQ(run(), TW_MODEL_NO_PARAMETERS);
  ASSERT_EQ(on_gpu.open(functions.model, OpenClApi::kLibrary, 0), 0)
      << on_gpu.message(functions.model);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(functions.load(functions.model, (stem + ".params").c_str()), 0);
    EXPECT_EQ(run(), 0) << on_gpu.message(functions.model);
    functions.release(functions.model);
  }
  ExpectSame(std::move(outputs), expected);
}

struct BrokenDriver {
  const char* faults;
  StatusCode code;
  const char* message;
};

TEST_F(OpenClLibraryOnDevice, AFaultOfTheDriverIsAnErrorAndTheNextRunWorks) {
  const BrokenDriver drivers[] = {
      {"platform", StatusCode::kNotFound, "no OpenCL device 0, there are 0"},
      {"devices", StatusCode::kUnavailable, "clGetDeviceIDs: out of host memory (-6)"},
      {"groups", StatusCode::kUnsupported, "has work groups of at most 1 items, the model's code"},
      {"alignment", StatusCode::kUnsupported, "has parts of buffers at multiples of 8192 bytes"},
      {"build@1", StatusCode::kUnavailable,
       "clBuildProgram: build program failure (-11): a line of the stand-in's compiler"},
      {"memory", StatusCode::kUnavailable, "memory object allocation failure (-4)"},
      {"resources@1", StatusCode::kUnavailable, ": clEnqueueNDRangeKernel: out of resources (-5)"},
      {"event@1", StatusCode::kUnavailable, ": execution: out of resources (-5)"},
      {"lost@1", StatusCode::kUnavailable, ": clEnqueueNDRangeKernel: device not available (-2)"}};
  for (const BrokenDriver& driver : drivers) {
    auto model = ModelLibrary::Open(path());
    ASSERT_TRUE(model.ok()) << model.status().message();
    {
      const OpenClFaults faults(driver.faults);
      Status status = model->UseDevice(FAULT_OPENCL, 0);
      if (status.ok()) status = model->Run(Inputs()).status();
      EXPECT_EQ(status.code(), driver.code) << driver.faults << ": " << status.message();
      EXPECT_THAT(status.message(), HasSubstr(driver.message)) << driver.faults;
    }
    ASSERT_TRUE(model->UseDevice(FAULT_OPENCL, 0).ok());
    ExpectSame(model->Run(Inputs()), Expected());
  }
}

TEST_F(OpenClLibraryOnDevice, ADeviceThatIsNotThereIsNamed) {
  auto model = ModelLibrary::Open(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Status status = model->UseDevice(OpenClApi::kLibrary, 1000);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no OpenCL device 1000, there are "));
}

}  // namespace
}  // namespace tilewright
