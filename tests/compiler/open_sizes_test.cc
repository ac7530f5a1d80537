// One library for a range of sizes of the batch: the results of every size against the reference at
// that size, and what such a library refuses.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>

#include "records/package/catalog.h"
#include "records/store.h"
#include "src/compiler/check/verify.h"
#include "src/runtime/loader.h"
#include "src/templates/registry.h"
#include "tests/compiler/library_fixture.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMaxSize = 19;

// Convolutions, a pool, a concat of values of a batch, and layers of one row for each entry, N of
// them.
constexpr char kOpenClassifier[] = R"(def @main(%data: Tensor[(N, 16, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2]);
  %3 = nn.conv2d(%2, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 1, 1), float32] */);
  %4 = (%2, %3);
  %5 = concatenate(%4, axis=1);
  %6 = nn.global_avg_pool2d(%5);
  %7 = nn.batch_flatten(%6);
  %8 = nn.dense(%7, meta[relay.Constant][2] /* ty=Tensor[(48, 32), float32] */);
  %9 = nn.bias_add(%8, meta[relay.Constant][3] /* ty=Tensor[(48), float32] */);
  %10 = nn.relu(%9);
  %11 = nn.dense(%10, meta[relay.Constant][4] /* ty=Tensor[(10, 48), float32] */);
  nn.softmax(%11)
})";

std::string WithBatch(const std::string& text, std::int64_t size) {
  return std::regex_replace(text, std::regex("\\bN\\b"), std::to_string(size));
}

class OpenSizes : public Library {
 protected:
  static Graph At(const std::string& text, std::int64_t size) {
    return Load(WithBatch(text, size).c_str());
  }
  Result<CompiledModel> CompileFor(const std::string& text, SizeRange range) const {
    const auto read = [&](std::int64_t size) { return Result<Graph>(At(text, size)); };
    return CompileOpen(At(text, 1), read, range, options_, Path("open.so"));
  }
  std::string RefusalOf(const std::string& text) const {
    const auto compiled = CompileFor(text, {"N", 1, kMaxSize});
    EXPECT_EQ(compiled.status().code(), StatusCode::kUnsupported) << compiled.status().message();
    return compiled.status().message();
  }
  void ExpectAllSizesRight(int threads, const std::string& text = kOpenClassifier) {
    options_.target = *Target::Parse("native -num-threads=" + std::to_string(threads));
    const auto compiled = CompileFor(text, {"N", 1, kMaxSize});
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    auto library = ModelLibrary::Open(Path("open.so"));
    ASSERT_TRUE(library.ok()) << library.status().message();
    for (std::int64_t size :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 1}) {
      SCOPED_TRACE(size);
      Graph graph = At(text, size);
      ASSERT_TRUE(library->FitSize(ValuesOf(graph, graph.inputs())).ok());
      EXPECT_EQ(library->outputs()[0].type, graph.node(graph.outputs()[0]).type);
      const std::vector<Tensor> inputs = Inputs(graph);
      const auto source = PartitionLike(std::move(graph), *library);
      ASSERT_TRUE(source.ok()) << source.status().message();
      const auto report = Verify(*source, *library, inputs, {});
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_TRUE(report->ok()) << report->Summary();
    }
  }
};

TEST_F(OpenSizes, ResultsOfEverySizeAreTheReferences) { ExpectAllSizesRight(1); }
TEST_F(OpenSizes, ThreadsShareEntries) { ExpectAllSizesRight(2); }

TEST_F(OpenSizes, OtherSizesAreRefusedBeforeARun) {
  const auto compiled = CompileFor(kOpenClassifier, {"N", 3, 8});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_THAT(compiled->header, HasSubstr("small_set_size"));
  EXPECT_THAT(compiled->header, HasSubstr("#define SMALL_INPUT_0_BYTES 32768"));  // 8 entries
  auto library = ModelLibrary::Open(Path("open.so"));
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_EQ(library->inputs()[0].type.shape[0], 3);
  for (std::int64_t size : {0, -1, 2, 9}) {
    EXPECT_THAT(library->SetSize("N", size).message(), HasSubstr("from 3 to 8")) << size;
  }
  EXPECT_THAT(library->SetSize("M", 4).message(), HasSubstr("is N"));
  EXPECT_EQ(library->inputs()[0].type.shape[0], 3);

  auto loaded = SharedLibrary::Open(Path("open.so"));
  ASSERT_TRUE(loaded.ok());
  const auto set_size = reinterpret_cast<std::int32_t (*)(const char*, std::int64_t)>(
      loaded->Symbol("small_set_size"));
  ASSERT_NE(set_size, nullptr);
  EXPECT_EQ(set_size("N", 8), 0);
  EXPECT_EQ(set_size("N", 9), TW_MODEL_WRONG_SIZE);
  EXPECT_EQ(set_size("N", 0), TW_MODEL_WRONG_SIZE);
  EXPECT_EQ(set_size("M", 8), TW_MODEL_NO_SUCH_DIMENSION);
  EXPECT_EQ(set_size(nullptr, 8), TW_MODEL_NULL_POINTER);
}

// Nothing runs, so no CPU needs to have AMX.
TEST_F(OpenSizes, KernelsOfTilesServeARange) {
  constexpr char kNarrow[] = R"(def @main(%data: Tensor[(N, 64, 8, 8), int8]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(64, 64, 3, 3), int8] */, padding=[1, 1, 1, 1], out_dtype="int32");
  nn.relu(%0)
})";
  options_.target = *Target::Parse("llvm -mcpu=sapphirerapids");
  options_.check = CheckLevel::kNone;
  const auto compiled = CompileFor(kNarrow, {"N", 1, 8});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const auto tiled = [](const OperatorReport& report) {
    return report.template_key.find("amx") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(compiled->operators, tiled));
}

// AMX multiplies no less than four rows, so the blocks have another template.
TEST_F(OpenSizes, LayersOfOneRowHaveBlocksWithoutTiles) {
  constexpr char kNarrow[] = R"(def @main(%data: Tensor[(N, 64), int8]) {
  nn.dense(%data, meta[relay.Constant][0] /* ty=Tensor[(64, 64), int8] */, out_dtype="int32")
})";
  options_.target = *Target::Parse("llvm -mcpu=sapphirerapids");
  options_.check = CheckLevel::kNone;
  std::size_t bodies = 0;
  options_.change_plan = [&](const Plan& plan) {
    for (const PlanStep& step : plan.steps) {
      if (step.kernel() == nullptr) continue;
      for (const BlockKernel& block : step.kernel()->blocks) bodies += block.bodies.size();
    }
  };
  const auto compiled = CompileFor(kNarrow, {"N", 1, 64});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_GT(bodies, 1U);
}

/// A dense layer with one row for each of N entries, and records of it with 8 and with 48 rows.
class OpenSizesOfRecords : public OpenSizes {
 protected:
  static constexpr char kLayer[] = R"(def @main(%data: Tensor[(N, 32), float32]) {
  nn.dense(%data, meta[relay.Constant][0] /* ty=Tensor[(48, 32), float32] */)
})";

  Trial TrialOf(std::int64_t rows, double seconds) const {
    const std::string key = fmt::format("dense(float32[{},32]MK,float32[48,32]NK)->float32", rows);
    const Workload workload = *Workload::Parse(key);
    const TemplateEntry* entry = BuiltInTemplates().Find("dense_packed.cpu");
    Trial trial;
    trial.candidate = {{workload, options_.target},
                       {},
                       std::string(entry->key),
                       entry->version,
                       *entry->default_config(workload, options_.target)};
    trial.outcome = Outcome::kOk;
    trial.samples = {seconds};
    trial.value = seconds;
    trial.verified = true;
    trial.device = options_.device;
    trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
    return trial;
  }

  Result<CompiledModel> CompileWithRecords(SizeCounts counts) {
    auto store = records::Store::Open(Path("records.db"), records::Store::Mode::kReadWrite);
    TW_RETURN_IF_ERROR(store);
    TW_ASSIGN_OR_RETURN(const auto job, store->OpenJob("job", "{}", 1));
    TW_RETURN_IF_ERROR(store->Append(job.id, {TrialOf(8, 1e-6), TrialOf(48, 6e-6)}, {}));
    records::Catalog catalog;
    catalog.AddStore(*std::move(store));
    options_.catalog = &catalog;
    options_.on_miss = OnMiss::kFail;
    return CompileFor(kLayer, {"N", 1, 64, std::move(counts)});
  }
};

TEST_F(OpenSizesOfRecords, RecordsOfAnyNumberOfRowsServe) {
  const auto compiled = CompileWithRecords({});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  ASSERT_EQ(compiled->operators.size(), 1U);
  const OperatorReport& layer = compiled->operators.front();
  EXPECT_EQ(layer.answer, records::AnswerLevel::kHit);
  EXPECT_TRUE(layer.tuned);
  ASSERT_FALSE(layer.blocks.empty());
  std::int64_t sizes = 0;
  for (const BlockReport& block : layer.blocks) {
    EXPECT_EQ(block.template_key, "dense_packed.cpu");
    EXPECT_TRUE(block.measured_rows == 8 || block.measured_rows == 48);
    for (const auto& [least, most] : block.sizes) sizes += most - least + 1;
  }
  EXPECT_EQ(sizes, 64);
  auto library = ModelLibrary::Open(Path("open.so"));
  ASSERT_TRUE(library.ok()) << library.status().message();
  for (std::int64_t size = 1; size <= 64; ++size) {
    SCOPED_TRACE(size);
    ASSERT_TRUE(library->SetSize("N", size).ok());
    Graph graph = At(kLayer, size);
    const std::vector<Tensor> inputs = Inputs(graph);
    const auto source = PartitionLike(std::move(graph), *library);
    ASSERT_TRUE(source.ok()) << source.status().message();
    const auto report = Verify(*source, *library, inputs, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->ok()) << report->Summary();
  }
}

TEST_F(OpenSizesOfRecords, ObservedSizesChooseTheConfig) {
  for (const std::int64_t rows : {8, 48}) {
    const auto compiled = CompileWithRecords({{rows, 1}});
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    EXPECT_EQ(compiled->operators.front().blocks.front().measured_rows, rows);
  }
}

TEST_F(OpenSizes, RefusesWhatPointersOf32BitsCannotReach) {
  options_.target = *Target::Parse("llvm -mtriple=armv7l-linux-gnueabihf");
  options_.runtime_path = "/dev/null";  // so that the test needs no cross compiler
  const auto compiled = CompileFor("def @main(%x: Tensor[(N, 16384), float32]) {\n  nn.relu(%x)\n}",
                                   {"N", 1, kMaxEntries});
  EXPECT_EQ(compiled.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(compiled.status().message(), HasSubstr("4294967296 bytes, a 32-bit target"));
}

TEST_F(OpenSizes, FixedLibrariesHaveNoSize) {
  ASSERT_TRUE(Compile(At(kOpenClassifier, 1), options_, Path("fixed.so")).ok());
  auto library = ModelLibrary::Open(Path("fixed.so"));
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(library->open_dimension(), nullptr);
  EXPECT_THAT(library->SetSize("N", 1).message(), HasSubstr("no open dimension"));
}

TEST_F(OpenSizes, InputsWithoutTheDimensionAreSharedByAllEntries) {
  constexpr char kScaled[] =
      R"(def @main(%a: Tensor[(N, 16), float32], %b: Tensor[(1, 16), float32]) {
  %0 = nn.relu(%b);
  %1 = exp(%0);
  add(%a, %1)
})";
  const auto compiled = CompileFor(kScaled, {"N", 1, 6});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  auto library = ModelLibrary::Open(Path("open.so"));
  ASSERT_TRUE(library.ok());
  ASSERT_TRUE(library->SetSize("N", 5).ok());
  Graph graph = At(kScaled, 5);
  const std::vector<Tensor> inputs = Inputs(graph);
  const auto report = Verify(*PartitionLike(std::move(graph), *library), *library, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
}

TEST_F(OpenSizes, OperatorsAcrossEntriesHaveOneKernel) {
  for (const char* joins : {"nn.softmax(%0, axis=0)", "mean(%0, axis=[0], keepdims=True)"}) {
    SCOPED_TRACE(joins);
    ExpectAllSizesRight(1, std::string("def @main(%data: Tensor[(N, 16), float32]) {\n"
                                       "  %0 = nn.relu(%data);\n  ") +
                               joins + "\n}");
  }
}

TEST_F(OpenSizes, OperatorsAcrossEntriesAreRefusedByName) {
  EXPECT_THAT(RefusalOf("def @main(%data: Tensor[(N, 16), float32]) {\n"
                        "  %0 = transpose(%data, axes=[1, 0]);\n  nn.softmax(%0, axis=1)\n}"),
              HasSubstr("in dimension 1"));
  EXPECT_THAT(
      RefusalOf("def @main(%data: Tensor[(N, 16), float32]) {\n"
                "  add(%data, meta[relay.Constant][0] /* ty=Tensor[(N, 16), float32] */)\n}"),
      HasSubstr("constant that depends on it"));
}

TEST_F(OpenSizes, ProductsOfSizesDoNotOverflow) {
  const auto compiled = CompileFor(
      "def @main(%data: Tensor[(N, 2147483647), float32]) {\n  nn.relu(%data)\n}", {"N", 1, 65536});
  EXPECT_EQ(compiled.status().code(), StatusCode::kInvalidArgument) << compiled.status().message();
}

}  // namespace
}  // namespace tilewright
