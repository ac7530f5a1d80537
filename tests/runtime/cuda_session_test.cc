#include "src/runtime/cuda_session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "src/runtime/loader.h"
#include "src/runtime/nvml.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"

namespace tilewright {
namespace {

std::unique_ptr<CudaSession> OpenFake(const char* library = FAKE_CUDA) {
  auto session = CudaSession::Open(library, 0);
  TW_CHECK(session.ok(), session.status().message());
  return *std::move(session);
}

/// Operands of the fake's one computation, dense(float32[4,16], float32[32,16]).
struct Operands {
  explicit Operands(CudaSession& session) {
    const std::vector<float> ones(32 * 16, 1.0F);
    const auto bytes = std::as_bytes(std::span(ones));
    for (GridMemory* memory : {&data, &weight, &output}) {
      auto made = session.Allocate(static_cast<std::int64_t>(bytes.size()));
      TW_CHECK(made.ok());
      *memory = *std::move(made);
      TW_CHECK(session.Write(memory->address(), bytes).ok());
    }
  }
  std::vector<std::uint64_t> addresses() const {
    return {data.address(), weight.address(), output.address()};
  }
  GridMemory data, weight, output;
};

GridProgram KernelIn(CudaSession& session, const std::string& kernel, const Operands& operands) {
  auto program = session.Load("ptx", {{kernel, {2, 1, 1}, {32, 1, 1}}});
  TW_CHECK(program.ok(), program.status().message());
  program->SetArguments(operands.addresses());
  return *std::move(program);
}

TEST(CudaDevices, DescribesWhatTheDriverKnows) {
  const auto devices = CudaDevices(FAKE_CUDA);
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ(devices->front().name, "Fake GPU");
  EXPECT_EQ(devices->front().compute_capability, 80);
  EXPECT_EQ(devices->front().driver_version, 12040);
  EXPECT_EQ(devices->front().l2_bytes, 1 << 20);
}

TEST(CudaDevices, SaysWhatIsMissing) {
  const auto message = [](const char* library) { return CudaDevices(library).status().message(); };
  EXPECT_EQ(message("libno_such_driver.so"),
            "no NVIDIA driver: libno_such_driver.so cannot be loaded");
  EXPECT_NE(message(FAKE_CUDA_OLD).find("too old: it has no cuMemsetD8Async"), std::string::npos);
  EXPECT_EQ(message(FAKE_CUDA_BROKEN), "cuInit: a fake error (999)");
  EXPECT_EQ(message(FAKE_CUDA_NO_DEVICE), "the NVIDIA driver reports no device");
  EXPECT_EQ(CudaSession::Open(FAKE_CUDA, 3).status().message(), "no CUDA device 3, there are 1");
}

TEST(CudaDevices, HipDescribesAnAmdGpu) {
  const auto devices = CudaDevices(FAKE_CUDA_HIP);
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  ASSERT_EQ(devices->size(), 1U);
  const CudaDevice& device = devices->front();
  EXPECT_EQ(device.name, "Fake GPU");
  EXPECT_EQ(device.processor, "gfx906");
  EXPECT_EQ(device.multiprocessors, 60);
  EXPECT_EQ(device.l2_bytes, 4 << 20);
  EXPECT_EQ(DriverVersionOf(device), "6.2");
  const DeviceFingerprint fingerprint = FingerprintOf(device);
  EXPECT_EQ(fingerprint.kind, "rocm");
  EXPECT_EQ(fingerprint.isa, std::vector<std::string>({"gfx906"}));
  EXPECT_EQ(fingerprint.extra, "driver 6.2");
}

TEST(CudaDevices, SaysWhatIsMissingOfHip) {
  EXPECT_EQ(CudaDevices("/no/libamdhip64.so.6").status().message(),
            "no AMD driver: /no/libamdhip64.so.6 cannot be loaded");
  EXPECT_EQ(CudaSession::Open(FAKE_CUDA_HIP, 3).status().message(), "no AMD device 3, there are 1");
}

TEST(CudaSession, HipRunsAProgramAndHasItsOwnWords) {
  auto session = OpenFake(FAKE_CUDA_HIP);
  Operands operands(*session);
  GridProgram program = KernelIn(*session, "tw_candidate", operands);
  const auto seconds = session->Time(program, 4, 1);
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_NEAR(*seconds, 4 * 19e-6, 1e-9) << "as one graph";
  std::vector<float> result(128);
  ASSERT_TRUE(
      session->Read(operands.output.address(), std::as_writable_bytes(std::span(result))).ok());
  EXPECT_EQ(result[17], 16);
  EXPECT_EQ(session->Allocate(std::int64_t{1} << 40).status().message(),
            "hipMalloc: out of memory (2)");
  const auto shared = session->Load("code", {{"tw_candidate", {1, 1, 1}, {1, 1, 1}, 60 << 10}});
  EXPECT_TRUE(shared.ok()) << "HIP needs no request for a block's memory";
}

TEST(CudaSession, RunsAProgram) {
  auto session = OpenFake();
  Operands operands(*session);
  GridProgram program = KernelIn(*session, "tw_candidate", operands);
  ASSERT_TRUE(session->Fill(operands.output.address(), 0xFF, 128 * 4).ok());
  const auto seconds = session->Time(program, 1, 1);
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_NEAR(*seconds, 20e-6, 1e-9);
  std::vector<float> result(128);
  ASSERT_TRUE(
      session->Read(operands.output.address(), std::as_writable_bytes(std::span(result))).ok());
  EXPECT_EQ(result, std::vector<float>(128, 16.0F));
}

TEST(CudaSession, ReplaysShortKernelsAsAGraphWhereThereAreGraphs) {
  for (const char* library : {FAKE_CUDA, FAKE_CUDA_NO_GRAPHS}) {
    auto session = OpenFake(library);
    Operands operands(*session);
    GridProgram program = KernelIn(*session, "tw_candidate", operands);
    const bool graphs = std::strcmp(library, FAKE_CUDA) == 0;
    for (int again = 0; again < 2; ++again) {
      const auto seconds = session->Time(program, 10, 1);
      ASSERT_TRUE(seconds.ok()) << seconds.status().message();
      EXPECT_NEAR(*seconds, graphs ? 190e-6 : 200e-6, 1e-9);
    }
  }
}

TEST(CudaSession, TellsWhatBrokeTheContext) {
  struct Case {
    const char* kernel;
    GridFault fault;
    bool timed_out;
  };
  for (const Case& c :
       {Case{"fault", GridFault::kKernelFault, false}, Case{"lost", GridFault::kDeviceLost, false},
        Case{"hang", GridFault::kNone, true}}) {
    // In a subprocess, because a failed session stays failed.
    EXPECT_EXIT(
        {
          auto session = OpenFake();
          Operands operands(*session);
          GridProgram program = KernelIn(*session, c.kernel, operands);
          const bool failed = !session->Time(program, 1, 0.02).ok();
          const bool as_expected =
              failed && session->fault() == c.fault && session->timed_out() == c.timed_out;
          ::_exit(as_expected ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << c.kernel;
  }
}

TEST(CudaSession, RefusesWhatItCannotLoad) {
  auto session = OpenFake();
  EXPECT_EQ(session->Load("refuse", {}).status().message(),
            "cuModuleLoadDataEx: a fake error (218): line 1: unexpected token");
  EXPECT_EQ(session->Load("ptx", {{"nobody", {1, 1, 1}, {1, 1, 1}}}).status().message(),
            "the module has no kernel nobody");
  EXPECT_EQ(session->Allocate(std::int64_t{1} << 40).status().message(),
            "cuMemAlloc: out of memory (2)");
  EXPECT_EQ(session->fault(), GridFault::kNone);
}

FakeCounts CountsOf(const char* library) {
  const auto opened = SharedLibrary::Open(library);
  TW_CHECK(opened.ok());
  FakeCounts counts;
  reinterpret_cast<FakeCountsOf>(opened->Symbol("fake_cuda_counts"))(&counts);
  return counts;
}

TEST(CudaSession, DropsARecordingThatFailed) {
  auto session = OpenFake();
  Operands operands(*session);
  auto program = session->Load("ptx", {{"tw_candidate", {0, 1, 1}, {32, 1, 1}}});  // no blocks
  ASSERT_TRUE(program.ok()) << program.status().message();
  program->SetArguments(operands.addresses());
  const int before = CountsOf(FAKE_CUDA).graphs;
  EXPECT_EQ(session->Time(*program, 10, 1).status().message(),
            "tw_candidate: cuLaunchKernel: a fake error (1)");
  EXPECT_EQ(CountsOf(FAKE_CUDA).graphs, before);
}

TEST(CudaSession, AsksForSharedMemoryBeyondTheUsual) {
  auto session = OpenFake();
  Operands operands(*session);
  const auto load = [&](std::int64_t bytes) {
    return session->Load("ptx", {{"tw_candidate", {2, 1, 1}, {32, 1, 1}, bytes}});
  };
  auto program = load(100 << 10);
  ASSERT_TRUE(program.ok()) << program.status().message();
  program->SetArguments(operands.addresses());
  for (const int calls : {1, 10}) {
    const auto seconds = session->Time(*program, calls, 1);
    EXPECT_TRUE(seconds.ok()) << seconds.status().message();
  }
  EXPECT_EQ(CountsOf(FAKE_CUDA).most_shared, 100U << 10);
  EXPECT_EQ(
      load(200 << 10).status().message(),
      "tw_candidate with 204800 bytes of shared memory: cuFuncSetAttribute: a fake error (1)");
  EXPECT_EQ(session->fault(), GridFault::kNone);
}

TEST(GpuMonitor, ReadsClockAndThrottling) {
  auto cool = GpuMonitor::Open(FAKE_CUDA, "fake:00:00.0");
  ASSERT_TRUE(cool.ok()) << cool.status().message();
  const auto state = cool->ReadState();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->clock_mhz, 1500);
  EXPECT_FALSE(state->throttled);
  EXPECT_TRUE(cool->Joules().ok());
  auto hot = GpuMonitor::Open(FAKE_CUDA_NO_GRAPHS, "fake:00:00.0");
  ASSERT_TRUE(hot.ok());
  EXPECT_TRUE(hot->ReadState()->throttled);
  EXPECT_EQ(hot->Joules().status().code(), StatusCode::kUnsupported);  // its driver is older
  EXPECT_FALSE(GpuMonitor::Open(FAKE_CUDA, "none").ok());
  EXPECT_FALSE(GpuMonitor::Open("libno_such_library.so", "fake:00:00.0").ok());
}

}  // namespace
}  // namespace tilewright
