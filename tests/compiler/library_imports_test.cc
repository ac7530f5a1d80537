// Libraries from AutoTVM's records: accepted after verification, rejected with an error if wrong.

#include <gmock/gmock.h>

#include <filesystem>

#include "records/autotvm/import.h"
#include "records/package/catalog.h"
#include "records/store.h"
#include "src/compiler/bundle.h"
#include "src/graph/partition/tasks.h"
#include "tests/compiler/library_fixture.h"
#include "tests/records/shared_file.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// A library whose first convolution has a record of AutoTVM: a 3x3 one of 16 channels on 8x8.
class LibraryOfImports : public Library {
 protected:
  /// Compiles with a log whose single record has these blocks of input and output channels; to a
  /// bundle if bundle_ is set.
  Result<CompiledModel> CompileWith(const std::string& ic, const std::string& oc) {
    const std::string line =
        R"({"input": ["llvm", "conv2d_NCHWc.x86", [["TENSOR", [1, 16, 8, 8], "float32"], )"
        R"(["TENSOR", [16, 16, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", )"
        R"("float32"], {}], "config": {"index": 0, "code_hash": null, "entity": )"
        R"([["tile_ic", "sp", [-1, )" +
        ic + R"(]], ["tile_oc", "sp", [-1, )" + oc +
        R"(]], ["tile_ow", "sp", [-1, 4]], ["unroll_kw", "ot", true]]}, "result": )"
        R"([[0.001], 0, 1.0, 2.0], "version": 0.2, "tvm_version": "0.7"})";
    TW_RETURN_IF_ERROR(WriteFile(Path("t.log"), line + "\n"));
    auto store = records::Store::Open(Path("records.db"), records::Store::Mode::kReadWrite);
    TW_RETURN_IF_ERROR(store);
    auto files = records::ImportAutotvm(*store, {Path("t.log")}, {});
    TW_RETURN_IF_ERROR(files);
    records::Catalog catalog;
    catalog.AddStore(*std::move(store));
    options_.catalog = &catalog;
    options_.autotvm = records::AutotvmLookup{*records::AutotvmTarget::Parse("llvm"), {}, {}};
    return bundle_ ? CompileBundle(Load(kTwoConvs), options_, Path("bundle"))
                   : CompileImported(Load(kTwoConvs), options_, Path("model.so"));
  }
  /// Returns the reports of the two convolutions, which have the same workload.
  static std::vector<OperatorReport> Convolutions(const CompiledModel& model) {
    std::vector<OperatorReport> reports;
    for (const OperatorReport& op : model.operators) {
      if (!op.workload_key.empty()) reports.push_back(op);
    }
    return reports;
  }

  bool bundle_ = false;
};

TEST_F(LibraryOfImports, TakesImportedConfigsOnceTheyAreVerified) {
  options_.on_miss = OnMiss::kFail;
  auto model = CompileWith("4", "8");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->library_path, Path("model.so"));
  EXPECT_TRUE(FileExists(Path("model.so")));
  EXPECT_FALSE(FileExists(Path("model.so.unverified")));
  EXPECT_EQ(model->check.compared, model->check.operators);
  EXPECT_GT(model->check.elements, 0);
  ASSERT_EQ(Convolutions(*model).size(), 2U);
  for (const OperatorReport& op : Convolutions(*model)) {
    EXPECT_EQ(op.answer, records::AnswerLevel::kHit);
    EXPECT_TRUE(op.tuned && op.imported && op.verified);
    EXPECT_THAT(op.config, HasSubstr("[2,8]"));
    EXPECT_THAT(op.explanation, HasSubstr("not verified here"));
  }
}

TEST_F(LibraryOfImports, ABundleIsVerifiedWithItsParametersAndWhole) {
  bundle_ = true;
  auto model = CompileWith("4", "8");
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (const OperatorReport& op : Convolutions(*model)) EXPECT_TRUE(op.imported && op.verified);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(Path("bundle"))) {
    files.push_back(entry.path().filename());
  }
  EXPECT_THAT(files, UnorderedElementsAre("small.so", "small.params", "small.h", "graph.json"));
  const auto loaded = ModelLibrary::Open(Path("bundle"));
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
}

TEST_F(LibraryOfImports, WhatCannotTakeItsPlaceIsSaidAndRemoved) {
  std::filesystem::create_directories(Path("model.so/full"));
  const auto model = CompileWith("4", "8");
  EXPECT_EQ(model.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(model.status().message(), HasSubstr("model.so: cannot be written: Is a directory"));
  EXPECT_FALSE(FileExists(Path("model.so.unverified")));
}

TEST_F(LibraryOfImports, RefusesLoudlyWhatCannotBeUsed) {
  auto model = CompileWith("4", "7");
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(Convolutions(*model).size(), 2U);
  for (const OperatorReport& op : Convolutions(*model)) {
    EXPECT_FALSE(op.tuned || op.imported || op.verified);
    EXPECT_EQ(op.answer, records::AnswerLevel::kMiss);
    EXPECT_THAT(op.explanation, HasSubstr("no code can be made of it here"));
  }
  options_.on_miss = OnMiss::kFail;
  EXPECT_EQ(CompileWith("4", "7").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(FileExists(Path("model.so.unverified")));
}

constexpr char kTophubConv[] = R"(def @main(%data: Tensor[(1, 512, 7, 7), float32]) {
  nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(512, 512, 3, 3), float32] */, padding=[1, 1, 1, 1])
})";

TEST_F(LibraryOfImports, TakesWhatTophubHasForThisKindOfTarget) {
  const std::string package = SharedFile("tophub/llvm_v0.04.log");
  TW_NEEDS_SHARED(package);
  auto store = records::Store::Open(Path("tophub.db"), records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(records::ImportAutotvm(*store, {package}, {}).ok());
  records::Catalog catalog;
  catalog.AddStore(*std::move(store));
  options_.catalog = &catalog;
  options_.autotvm = records::AutotvmLookup{*records::AutotvmTarget::Parse("llvm"), {}, {}};
  options_.on_miss = OnMiss::kFail;
  auto model = CompileImported(Load(kTophubConv), options_, Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(Convolutions(*model).size(), 1U);
  const OperatorReport op = Convolutions(*model).front();
  EXPECT_TRUE(op.imported && op.verified);
  EXPECT_THAT(op.explanation, HasSubstr("package llvm"));
}

TEST_F(LibraryOfImports, AnOperatorThatDiffersIsCompiledAgain) {
  const std::string workload = (*ExtractTasks(Load(kTwoConvs)))[0].workload.Key();
  options_.refused_imports.emplace(workload, "its result differs from the reference");
  auto model = CompileWith("4", "8");
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (const OperatorReport& op : Convolutions(*model)) {
    EXPECT_FALSE(op.imported);
    EXPECT_THAT(op.explanation, HasSubstr("differs from the reference"));
  }
}

TEST_F(LibraryOfImports, AnOperatorThatCrashesIsCompiledAgain) {
  options_.change_plan = [](Plan& plan) {
    const auto bad =
        std::ranges::find_if(plan.steps, [](const PlanStep& step) { return step.report.imported; });
    if (bad == plan.steps.end()) return;
    Program& kernel = plan.kernels[static_cast<std::size_t>(bad->kernel()->kernel)];
    kernel.body = MakeStore(kernel.parameters.back(),
                            std::vector<Expr>(kernel.parameters.back()->shape.size(),
                                              MakeInt(kInt64, std::int64_t{1} << 40)),
                            MakeFloat(kFloat32, 0));
  };
  const auto model = CompileWith("4", "8");
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(Convolutions(*model).size(), 2U);
  for (const OperatorReport& op : Convolutions(*model)) {
    EXPECT_FALSE(op.imported);
    EXPECT_THAT(op.explanation, HasSubstr("SIGSEGV"));
  }
}

}  // namespace
}  // namespace tilewright
