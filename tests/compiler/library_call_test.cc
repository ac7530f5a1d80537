// Models with operators that a library computes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "records/package/catalog.h"
#include "src/base/files/file.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/run/run.h"
#include "src/graph/passes/passes.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/registry.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// Two operators of one workload: they share a kernel, but not a weight.
constexpr char kTwice[] = R"(def @main(%data: Tensor[(1, 24, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(24, 24, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(24, 24, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  nn.relu(%2)
})";

class LibraryCalls : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-library-call-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    options_.templates = &BuiltInTemplates();
    options_.target = *Target::Parse("native -libs=dnnl");
    options_.device = ProbeHostCpu();
    options_.name = "small";
    options_.catalog = &catalog_;
    Serve("records.db", {Trial("conv2d.dnnl", 1e-6), Trial("conv2d_direct.cpu", 1)});
  }

  /// Replaces all records.
  void Serve(const char* file, const std::vector<tilewright::Trial>& trials) {
    auto store = records::Store::Open(Path(file), records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto job = store->OpenJob("job", "{}", 1);
    ASSERT_TRUE(job.ok());
    ASSERT_TRUE(store->Append(job->id, trials, {}).ok());
    catalog_ = records::Catalog();
    catalog_.AddStore(*std::move(store));
  }

  /// Returns a verified trial of the convolution above with the default config of a template.
  tilewright::Trial Trial(const char* key, double seconds) const {
    const TemplateEntry& entry = *BuiltInTemplates().Find(key);
    tilewright::Trial trial;
    Candidate& candidate = trial.candidate;
    candidate.task = {
        *Workload::Parse("conv2d(float32[1,24,8,8]NCHW,float32[24,24,3,3]OIHW,s1x1,p1x1x1x1,d1x1,"
                         "g1)->float32"),
        WithoutLibraries(options_.target)};
    candidate.template_key = key;
    candidate.template_version = entry.version;
    candidate.config = *entry.default_config(candidate.task.workload, candidate.task.target);
    trial.outcome = Outcome::kOk;
    trial.samples = {seconds};
    trial.value = seconds;
    trial.verified = true;
    trial.device = ProbeHostCpu();
    trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
    return trial;
  }

  static Graph Load() {
    auto graph = ImportRelay(kTwice, "twice");
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    SeedConstants(*graph, SeedRule::kMissing);
    return *std::move(graph);
  }
  static std::vector<Tensor> Inputs(const Graph& graph) {
    const Node& node = graph.node(graph.inputs()[0]);
    std::vector<Tensor> inputs;
    inputs.push_back(MakeSyntheticInput(node.name, node.type, SyntheticInputRule::kRandom));
    return inputs;
  }
  void CheckRuns(const std::string& path) {
    auto model = ModelLibrary::Open(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const std::vector<Tensor> inputs = Inputs(Load());
    for (int threads : {1, 2}) {
      ASSERT_TRUE(model->SetThreads(threads).ok());
      auto report = Verify(*PartitionLike(Load(), *model), *model, inputs, {});
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_TRUE(report->ok()) << report->Summary();
    }
  }
  std::string Path(const char* name) const { return folder_->path() + "/" + name; }
  static bool Present() { return LibraryVersion(*FindLibrary("dnnl")).ok(); }

  records::Catalog catalog_;
  CompileOptions options_;
  std::optional<ScopedTempDir> folder_;
};

TEST_F(LibraryCalls, AreInTheModelWhereTheTargetNamesTheLibrary) {
  if (!Present()) GTEST_SKIP() << "oneDNN is not on this machine";
  options_.target = *Target::Parse("native -libs=dnnl -num-threads=2");
  Serve("two.db", {Trial("conv2d.dnnl", 1e-6)});  // records of one thread are not for two
  auto compiled = Compile(Load(), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  int called = 0;
  for (const OperatorReport& op : compiled->operators) {
    called += op.template_key == "conv2d.dnnl" ? 1 : 0;
    EXPECT_EQ(op.skipped_record, "");
  }
  EXPECT_EQ(called, 2);
  CheckRuns(Path("model.so"));
}

TEST_F(LibraryCalls, AreForgottenWhenABundleIsReleased) {
  if (!Present()) GTEST_SKIP() << "oneDNN is not on this machine";
  options_.parameter_path = Path("model.params");
  auto compiled = Compile(Load(), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  auto loaded = LoadModel(Path("model.so"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const std::vector<Tensor> inputs = Inputs(Load());
  const void* in[] = {inputs[0].data()};
  Tensor first(TensorType{{1, 24, 8, 8}, kFloat32});
  Tensor second = first.Clone();
  const TwModelFunctions& functions = loaded->functions;
  void* out[] = {first.data()};
  ASSERT_EQ(functions.run(functions.model, in, out, nullptr, nullptr), 0);
  functions.release(functions.model);
  ASSERT_EQ(functions.load(functions.model, Path("model.params").c_str()), 0);
  out[0] = second.data();
  ASSERT_EQ(functions.run(functions.model, in, out, nullptr, nullptr), 0);
  EXPECT_TRUE(Compare(second, first).ok);
}

TEST_F(LibraryCalls, AModelWithoutItsLibraryIsNotLoaded) {
  if (!Present()) GTEST_SKIP() << "oneDNN is not on this machine";
  auto compiled = Compile(Load(), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  std::string bytes = *ReadFile(Path("model.so"));
  const std::string name(FileOf(*FindLibrary("dnnl")));
  std::string other = name;  // with the same length
  other.replace(other.find("dnnl"), 4, "none");
  std::size_t found = bytes.find(name);
  ASSERT_NE(found, std::string::npos);
  for (; found != std::string::npos; found = bytes.find(name)) {
    bytes.replace(found, name.size(), other);
  }
  ASSERT_TRUE(WriteFile(Path("moved.so"), bytes).ok());
  auto model = ModelLibrary::Open(Path("moved.so"));
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(model.status().message(),
              testing::AllOf(HasSubstr("conv2d("), HasSubstr(other), HasSubstr("not on this")));
}

TEST_F(LibraryCalls, GiveWayToAKernelThatSavesChangesOfLayout) {
  if (!Present()) GTEST_SKIP() << "oneDNN is not on this machine";
  tilewright::Trial call = Trial("conv2d.dnnl", 1e-6);
  call.device = WithLibrary(call.device, *FindLibrary("dnnl"));
  const Workload& conv = call.candidate.task.workload;
  call.candidate.config = BuiltInTemplates()
                              .Find("conv2d.dnnl")
                              ->define_space(conv, options_.target)
                              ->At(1);  // channels are last
  const tilewright::Trial generated = Trial("conv2d_direct.cpu", 2e-6);
  Serve("layouts.db", {call, generated});
  const auto choose = [&](double seconds) {
    auto choice = ChooseKernel(
        conv, Epilogue(), /*plain_weight=*/false,
        [&](const KernelLayouts& layouts) { return layouts.output == "NHWC" ? seconds : 0; },
        options_);
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    return choice.ok() ? choice->report.template_key : std::string();
  };
  EXPECT_EQ(choose(0), "conv2d.dnnl");
  EXPECT_EQ(choose(1e-3), "conv2d_direct.cpu");
}

TEST_F(LibraryCalls, AreNotForWeightsThatAreComputed) {
  auto graph = ImportRelay(R"(def @main(%data: Tensor[(1, 24, 8, 8), float32],
    %weight: Tensor[(24, 24, 3, 3), float32]) {
  nn.conv2d(%data, %weight, padding=[1, 1, 1, 1])
})",
                           "computed");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto compiled = Compile(*std::move(graph), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const auto op = std::ranges::find_if(compiled->operators, [](const OperatorReport& report) {
    return !report.workload_key.empty();
  });
  ASSERT_NE(op, compiled->operators.end());
  EXPECT_EQ(op->template_key, "conv2d_direct.cpu");
  EXPECT_TRUE(op->tuned) << op->explanation;
  EXPECT_THAT(op->skipped_record, HasSubstr(Present() ? "run time" : "oneDNN"));
}

TEST_F(LibraryCalls, AreReplacedByTheBestGeneratedKernelAndSo) {
  options_.target = *Target::Parse("native");
  auto compiled = Compile(Load(), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  int tuned = 0;
  for (const OperatorReport& op : compiled->operators) {
    if (op.workload_key.empty()) continue;
    ++tuned;
    EXPECT_EQ(op.template_key, "conv2d_direct.cpu");
    EXPECT_TRUE(op.tuned);
    EXPECT_THAT(op.skipped_record,
                testing::AllOf(HasSubstr("conv2d.dnnl in 1e-06 seconds"), HasSubstr("-libs=dnnl")));
    EXPECT_THAT(op.explanation, HasSubstr(op.skipped_record));
  }
  EXPECT_EQ(tuned, 2);
  CheckRuns(Path("model.so"));
}

}  // namespace
}  // namespace tilewright
