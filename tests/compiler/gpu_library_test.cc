// Libraries for a GPU, with the fake driver and kernels in the SIMT emulator: the whole path from a
// model file to its results, except for the device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/package/catalog.h"
#include "records/store.h"
#include "src/base/files/file.h"
#include "src/compiler/bundle.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/runtime/cuda_session.h"
#include "src/runtime/loaded_model.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/registry.h"
#include "src/tensor/synthetic_data.h"
#include "tests/compiler/fake_gpu.h"
#include "tests/compiler/gpu_library_fixture.h"
#include "tests/compiler/sample_networks.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

class GpuLibraryOf : public testing::TestWithParam<Network>, public GpuLibraryFixture {};

TEST_P(GpuLibraryOf, GivesWhatTheReferenceGives) {
  ASSERT_NO_FATAL_FAILURE(Make(GetParam().text));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  const ModelLibrary model = Open(FAKE_CUDA);
  EXPECT_TRUE(model.on_gpu());
  auto report = Verify(*PartitionLike(Load(), model), model, Inputs(), {});
  ASSERT_TRUE(report.ok()) << report.status().message() << gpu.problem();
  EXPECT_TRUE(report->ok()) << report->Summary();
  EXPECT_EQ(report->checks.size(), plan_->steps.size());
  ExpectSame(model.Run(Inputs()), Expected());
  EXPECT_EQ(gpu.problem(), "");
  EXPECT_EQ(gpu.counts().pushed, 0);
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuLibraryOf, testing::ValuesIn(kNetworks),
                         [](const auto& tested) { return std::string(tested.param.name); });

class GpuLibrary : public testing::Test, public GpuLibraryFixture {};

class AmdLibrary : public testing::Test, public GpuLibraryFixture {};

TEST_F(AmdLibrary, CarriesCodeObjectsAndGivesWhatTheReferenceGives) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork, "rocm -model=gfx906"));
  const auto bytes = ReadFile(path());
  ASSERT_TRUE(bytes.ok());
  EXPECT_THAT(*bytes, HasSubstr("amdgcn-amd-amdhsa--gfx906"));
  EXPECT_THAT(*bytes, HasSubstr("libamdhip64.so"));
  EXPECT_THAT(header_, HasSubstr("net_run_on_device("));
  FakeGpu gpu(FAKE_CUDA_HIP, *plan_);
  const ModelLibrary model = Open(FAKE_CUDA_HIP);
  EXPECT_TRUE(model.on_gpu());
  for (int run = 0; run < 2; ++run) ExpectSame(model.Run(Inputs()), Expected());
  EXPECT_EQ(gpu.problem(), "");
  EXPECT_EQ(gpu.counts().pushed, 0);
}

TEST_F(AmdLibrary, SaysWhyADeviceCannotRunIt) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork, "rocm -model=gfx90a"));
  auto model = ModelLibrary::Open(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(model->UseDevice(FAKE_CUDA_HIP, 0).message(),
              HasSubstr("Fake GPU is gfx906, the model's code needs gfx90a"));
  EXPECT_THAT(model->UseDevice(FAKE_CUDA_HIP, 7).message(),
              HasSubstr("no AMD device 7, there are 1"));
  const Status none = model->UseDevice("libno_amdhip64.so", 0);
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_THAT(none.message(), HasSubstr("no AMD driver: libno_amdhip64.so cannot be loaded"));
}

int LaunchesOf(const Plan& plan) {
  std::size_t count = 0;
  for (const PlanStep& step : plan.steps) {
    const KernelStep* kernel = step.kernel();
    if (kernel == nullptr) continue;  // a copy
    count += PlanLaunches(plan.KernelOf(*kernel)).launches.size();
  }
  return static_cast<int>(count);
}

TEST_F(GpuLibrary, CopiesOnlyInputsAndOutputsAndReplaysTheLaunches) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  for (const char* driver : {FAKE_CUDA, FAKE_CUDA_NO_GRAPHS}) {
    FakeGpu gpu(driver, *plan_);
    const ModelLibrary model = Open(driver);
    const FakeCounts opened = gpu.counts();
    EXPECT_EQ(opened.to_device, 1) << "the constants";
    for (int run = 1; run <= 2; ++run) {
      ExpectSame(model.Run(Inputs()), Expected());
      EXPECT_EQ(gpu.counts().to_device, 1 + run);
      EXPECT_EQ(gpu.counts().to_host, 3 * run);
      EXPECT_EQ(gpu.counts().launches, run * LaunchesOf(*plan_));
      EXPECT_EQ(gpu.counts().replays, std::string(driver) == FAKE_CUDA ? run : 0);
      EXPECT_EQ(gpu.counts().recorded_in_the_way, 0);
    }
  }
}

/// Returns a trial on a device of compute capability 8.0, with the template's default config unless
/// given.
Trial TrialOn80(const Workload& workload, const std::string& template_key,
                const std::optional<Config>& config = std::nullopt,
                const char* target_text = "cuda -arch=sm_80") {
  const Target target = *Target::Parse(target_text);
  const TemplateEntry& entry = *BuiltInTemplates().Find(template_key);
  Trial trial;
  trial.candidate = {{workload, target},
                     {},
                     template_key,
                     entry.version,
                     config ? *entry.define_space(workload, target)->Locate(*config)
                            : *entry.default_config(workload, target)};
  trial.outcome = Outcome::kOk;
  trial.samples = {1e-3};
  trial.value = 1e-3;
  trial.verified = true;
  trial.device.kind = "cuda";
  trial.device.model = "Card of tests";
  trial.device.isa = {"sm_80"};
  trial.codegen_version = FindDeviceTraits("cuda").codegen_version;
  return trial;
}

TEST_F(GpuLibrary, RecordsThatCallALibraryArePassedOver) {
  const Workload dense = *Workload::Parse("dense(float32[4,16]MK,float32[32,16]NK)->float32");
  auto store =
      records::Store::Open(folder_->path() + "/records.db", records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  auto job = store->OpenJob("job", "{}", 1);
  ASSERT_TRUE(job.ok());
  Trial generated = TrialOn80(dense, "dense_small_batch.cuda");
  generated.value *= 2;
  generated.samples = {generated.value};
  const Trial called =
      TrialOn80(dense, "dense.cublas", std::nullopt, "cuda -arch=sm_80 -libs=cublas");
  ASSERT_TRUE(store->Append(job->id, {called, generated}, {}).ok());
  records::Catalog catalog;
  catalog.AddStore(*std::move(store));
  options_.catalog = &catalog;
  options_.device = *GenericGpuFor(*Target::Parse("cuda -arch=sm_80"));
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork, "cuda -arch=sm_80 -libs=cublas"));
  EXPECT_EQ(operators_[0].template_key, "dense_small_batch.cuda");
  EXPECT_THAT(operators_[0].skipped_record, HasSubstr("dense.cublas in"));
}

/// Returns a catalog with this record, in a store in `folder`.
records::Catalog CatalogOf(const std::string& folder, const Trial& trial) {
  auto store = records::Store::Open(folder + "/records.db", records::Store::Mode::kReadWrite);
  TW_CHECK(store.ok(), store.status().message());
  auto job = store->OpenJob("job", "{}", 1);
  TW_CHECK(job.ok());
  TW_CHECK(store->Append(job->id, {trial}, {}).ok());
  records::Catalog catalog;
  catalog.AddStore(*std::move(store));
  return catalog;
}

TEST_F(GpuLibrary, GivesKernelsTheSharedMemoryTheyAskFor) {
  const Workload dense = *Workload::Parse("dense(int8[64,1024]MK,int8[64,1024]NK)->int32");
  const Config config = *Config::Parse(
      R"({"index":0,"values":{"warps_m":2,"warps_n":2,"tiles_m":2,"tiles_n":4,"steps_k":8,)"
      R"("copy_bytes":16,"stages":4,"pad_bytes":32,"auto_unroll_max_step":0}})");
  records::Catalog catalog = CatalogOf(folder_->path(), TrialOn80(dense, "dense_mma.cuda", config));
  options_.catalog = &catalog;
  options_.device = *GenericGpuFor(*Target::Parse("cuda -arch=sm_80"));
  ASSERT_NO_FATAL_FAILURE(Make(R"(def @main(%data: Tensor[(64, 1024), int8]) {
  nn.dense(%data, meta[relay.Constant][0] /* ty=Tensor[(64, 1024), int8] */, out_dtype="int32")
})"));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  ExpectSame(Open(FAKE_CUDA).Run(Inputs()), Expected());
  EXPECT_EQ(gpu.problem(), "");
  EXPECT_GT(gpu.counts().most_shared, kStaticSharedBytes);
  auto model = ModelLibrary::Open(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  FakeGpu smaller(FAKE_CUDA_NO_GRAPHS, *plan_);
  EXPECT_THAT(model->UseDevice(FAKE_CUDA_NO_GRAPHS, 0).message(),
              HasSubstr("cuFuncSetAttribute for a block's shared memory: a fake error (1)"));
}

// A Winograd convolution is a kernel of three launches with memory between them.
TEST_F(GpuLibrary, RecordsOfAnotherDeviceOfTheGenerationAreTaken) {
  const Workload conv = *Workload::Parse(
      "conv2d(float32[1,8,8,8]NCHW,float32[8,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  records::Catalog catalog =
      CatalogOf(folder_->path(), TrialOn80(conv, "conv2d_nchw_winograd.cuda"));
  options_.catalog = &catalog;
  options_.device = *GenericGpuFor(*Target::Parse("cuda -arch=sm_80"));
  ASSERT_NO_FATAL_FAILURE(Make(R"(def @main(%data: Tensor[(1, 8, 8, 8), float32]) {
  nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(8, 8, 3, 3), float32] */, padding=[1, 1, 1, 1])
})"));
  ASSERT_EQ(operators_.size(), 1U);
  EXPECT_EQ(operators_[0].template_key, "conv2d_nchw_winograd.cuda");
  EXPECT_EQ(operators_[0].answer, records::AnswerLevel::kNearMatch);
  EXPECT_THAT(operators_[0].explanation, HasSubstr("Card of tests"));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  ExpectSame(Open(FAKE_CUDA).Run(Inputs()), Expected());
  EXPECT_EQ(gpu.problem(), "");
  EXPECT_EQ(gpu.counts().launches, 3);
}

TEST_F(GpuLibrary, RunsOnTensorsOfTheDevice) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  auto loaded = LoadModel(path());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const TwModel* model = loaded->functions.model;
  ASSERT_EQ(loaded->gpu.open(model, FAKE_CUDA, 0), 0);
  const FakeCounts before = gpu.counts();
  auto session = CudaSession::Open(FAKE_CUDA, 0);
  ASSERT_TRUE(session.ok());
  const std::vector<Tensor> inputs = Inputs(), expected = Expected();
  auto data = (*session)->Allocate(inputs[0].bytes());
  ASSERT_TRUE(data.ok());
  ASSERT_TRUE(
      (*session)
          ->Write(data->address(), {inputs[0].data(), static_cast<std::size_t>(inputs[0].bytes())})
          .ok());
  std::vector<GridMemory> memories;
  std::vector<std::uint64_t> addresses;
  for (const Tensor& tensor : expected) {
    auto memory = (*session)->Allocate(tensor.bytes());
    ASSERT_TRUE(memory.ok());
    addresses.push_back(memory->address());
    memories.push_back(*std::move(memory));
  }
  const std::uint64_t input = data->address();
  ASSERT_EQ(loaded->gpu.run_on_device(model, &input, addresses.data(), nullptr), 0)
      << loaded->gpu.message(model) << gpu.problem();
  EXPECT_EQ(gpu.counts().to_device, before.to_device + 1) << "the test's own copy";
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Tensor& output = outputs.emplace_back(expected[i].type());
    ASSERT_TRUE((*session)
                    ->Read(addresses[i], {output.data(), static_cast<std::size_t>(output.bytes())})
                    .ok());
  }
  ExpectSame(std::move(outputs), expected);
  const std::uint64_t none = 0, crooked = input + 32;
  EXPECT_EQ(loaded->gpu.run_on_device(model, &none, addresses.data(), nullptr),
            TW_MODEL_NULL_POINTER);
  EXPECT_EQ(loaded->gpu.run_on_device(model, &crooked, addresses.data(), nullptr),
            TW_MODEL_NOT_ALIGNED);
  addresses[1] = 0;
  EXPECT_EQ(loaded->gpu.run_on_device(model, &input, addresses.data(), nullptr),
            TW_MODEL_NULL_POINTER);
  EXPECT_EQ(gpu.counts().synchronized, 0);
  loaded->functions.release(model);
  EXPECT_EQ(gpu.counts().modules, 0);
  EXPECT_EQ(gpu.counts().synchronized, 1) << "the caller's stream may be at work";
}

TEST_F(GpuLibrary, TimesOperatorsByTheDevicesClock) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  const ModelLibrary model = Open(FAKE_CUDA);
  std::vector<double> seconds(model.operators().size());
  ASSERT_TRUE(model.RunTimed(Inputs(), seconds).ok());
  EXPECT_NEAR(seconds[0], 20e-6, 1e-9);
}

TEST_F(GpuLibrary, SaysWhyItCannotRun) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  auto model = ModelLibrary::Open(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto message = [&](const char* driver, int device) {
    return model->UseDevice(driver, device).message();
  };
  EXPECT_THAT(message("libno_such_driver.so", 0),
              HasSubstr("no NVIDIA driver: libno_such_driver.so cannot be loaded"));
  EXPECT_THAT(message(FAKE_CUDA_OLD, 0), HasSubstr("too old: it has no cuMemsetD8Async"));
  EXPECT_THAT(message(FAKE_CUDA_NO_DEVICE, 0), HasSubstr("no CUDA device 0, there are 0"));
  EXPECT_THAT(message(FAKE_CUDA, 7), HasSubstr("no CUDA device 7, there are 1"));
  // Without an executor, the fake driver has no kernel of this name.
  EXPECT_THAT(message(FAKE_CUDA, 0), HasSubstr("a fake error (500)"));
  EXPECT_EQ(model->UseDevice("libno_such_driver.so", 0).code(), StatusCode::kNotFound);
}

TEST_F(GpuLibrary, RefusesAnOlderDevice) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork, "cuda -arch=sm_90"));
  auto model = ModelLibrary::Open(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Status status = model->UseDevice(FAKE_CUDA, 0);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("Fake GPU is sm_80, the model's code needs sm_90"));
}

TEST_F(GpuLibrary, SaysHowMuchMemoryIsMissing) {
  ASSERT_NO_FATAL_FAILURE(
      Make("def @main(%data: Tensor[(1024, 262144), float32]) { nn.relu(%data) }"));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  auto model = ModelLibrary::Open(path());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(model->UseDevice(FAKE_CUDA, 0).message(),
              HasSubstr("out of memory (2), for 2147483648 bytes"));
  EXPECT_EQ(gpu.counts().modules, 0) << "given back";
}

TEST_F(GpuLibrary, AFaultOfAKernelEndsTheRun) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  // In a subprocess, because a failed session stays failed.
  EXPECT_EXIT(
      {
        FakeGpu gpu(FAKE_CUDA, *plan_);
        const ModelLibrary model = Open(FAKE_CUDA);
        gpu.FailNext();
        const Status status = model.Run(Inputs()).status();
        const bool named =
            status.message().find("an illegal memory access was encountered (700)") !=
            std::string::npos;
        ::_exit(named ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(GpuLibrary, TakesItsConstantsFromABundle) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  auto bundle = CompileBundle(Load(), options_, folder_->path() + "/bundle");
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  auto model = ModelLibrary::Open(folder_->path() + "/bundle");
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(model->UseDevice(FAKE_CUDA, 0).ok());
  ExpectSame(model->Run(Inputs()), Expected());
}

// The fake driver stays selected: otherwise the runs would load the real driver.
TEST_F(GpuLibrary, ParametersLoadedAgainLeaveTheDeviceOpen) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  const std::string folder = folder_->path() + "/bundle";
  ASSERT_TRUE(CompileBundle(Load(), options_, folder).ok());
  auto model = ModelLibrary::Open(folder);
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(model->UseDevice(FAKE_CUDA, 0).ok());
  const int modules = gpu.counts().modules;
  auto other = ModelLibrary::Open(folder);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(gpu.counts().modules, modules) << "closed";
  EXPECT_EQ(gpu.counts().to_device, 2) << "the constants, twice";
  ExpectSame(model->Run(Inputs()), Expected());
  EXPECT_EQ(gpu.counts().pushed, 0);
}

TEST_F(GpuLibrary, ADeviceMayBeChosenBeforeTheParametersAre) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  FakeGpu gpu(FAKE_CUDA, *plan_);
  const std::string stem = folder_->path() + "/bundle/net";
  ASSERT_TRUE(CompileBundle(Load(), options_, folder_->path() + "/bundle").ok());
  const auto library = SharedLibrary::Open(stem + ".so");
  ASSERT_TRUE(library.ok());
  const auto& functions =
      *static_cast<const TwModelFunctions*>(library->Symbol("tilewright_model"));
  const auto& on_gpu = *static_cast<const TwGpuFunctions*>(library->Symbol("tilewright_gpu_model"));
  ASSERT_EQ(on_gpu.open(functions.model, FAKE_CUDA, 0), 0) << on_gpu.message(functions.model);
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
  ASSERT_EQ(functions.load(functions.model, (stem + ".params").c_str()), 0);
  EXPECT_EQ(run(), 0);
  functions.release(functions.model);
  EXPECT_EQ(gpu.counts().modules, 0);
  ASSERT_EQ(functions.load(functions.model, (stem + ".params").c_str()), 0);
  EXPECT_EQ(run(), 0) << "the same device, opened again: " << on_gpu.message(functions.model);
  ExpectSame(std::move(outputs), expected);
}

TEST_F(GpuLibrary, TheHeaderHasTheFunctionsOfADevice) {
  ASSERT_NO_FATAL_FAILURE(Make(kSmallGpuNetwork));
  for (const char* function : {"int32_t net_run(", "int32_t net_set_device(int32_t",
                               "int32_t net_run_on_device(", "const char* net_message(void)"}) {
    EXPECT_THAT(header_, HasSubstr(function));
  }
}

}  // namespace
}  // namespace tilewright
