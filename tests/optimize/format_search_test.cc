// Networks in mixed formats, and whole searches on a small network on this machine.

#include "src/optimize/format_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/base/files/locked_temp_dir.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/quantize/quality.h"
#include "src/optimize/choice.h"
#include "src/session/target.h"
#include "src/templates/device.h"

namespace tilewright::optimize {
namespace {

using testing::HasSubstr;

/// A residual, a pool and a matrix product: four sites.
constexpr const char* kNetwork =
    "def @main(%x: Tensor[(1, 8, 12, 12), float32]) {\n"
    "%0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(16, 8, 3, 3), float32] */, "
    "padding=[1, 1, 1, 1]);\n"
    "%1 = nn.relu(%0);\n"
    "%2 = nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 3, 3), float32] */, "
    "padding=[1, 1, 1, 1]);\n"
    "%3 = add(%2, %1);\n"
    "%4 = nn.relu(%3);\n"
    "%5 = nn.conv2d(%4, meta[relay.Constant][2] /* ty=Tensor[(32, 16, 1, 1), float32] */, "
    "padding=[0, 0, 0, 0]);\n"
    "%6 = nn.global_avg_pool2d(%5);\n"
    "%7 = nn.batch_flatten(%6);\n"
    "nn.dense(%7, meta[relay.Constant][3] /* ty=Tensor[(10, 32), float32] */, units=10)\n}\n";

Graph SmallNetwork() {
  auto graph = ImportRelay(kNetwork, "small");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  return *std::move(graph);
}

class FormatSearchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto target = session::ParseTarget("native", 1);
    ASSERT_TRUE(target.ok()) << target.status().message();
    target_ = *target;
    auto folder = LockedTempDir::Create("tilewright-optimize-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }
  CompileOptions Options() const {
    CompileOptions options;
    options.templates = &templates_;
    options.target = target_;
    options.device = *DeviceFor(target_);
    return options;
  }
  session::CompileRequest Request() const {
    session::CompileRequest request;
    request.graph = SmallNetwork();
    request.options = Options();
    return request;
  }
  Result<NetworkFormats> Formats4() const {
    return NetworkFormats::Create(SmallNetwork(), target_,
                                  quantize::SyntheticSamples(SmallNetwork(), 4), 1);
  }

  const TemplateRegistry templates_ = TemplateRegistry::BuiltIn();
  Target target_;
  std::optional<LockedTempDir> folder_;
};

TEST_F(FormatSearchTest, FindsTheSitesAndTheirFormats) {
  const auto network = Formats4();
  ASSERT_TRUE(network.ok()) << network.status().message();
  ASSERT_EQ(network->sites().size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const Site& site = network->sites()[i];
    EXPECT_EQ(site.formats, (std::vector<Format>(std::begin(kFormats), std::end(kFormats))));
    EXPECT_EQ(site.before, static_cast<int>(i) - 1);
  }
  EXPECT_EQ(network->sites()[0].elements, 8 * 12 * 12);
  EXPECT_EQ(network->sites()[3].op, "dense");
  EXPECT_EQ(CodeOf(network->Uniform(Format::kInt8)), "iiii");
}

// Every combination compiles, and its library computes what the reference evaluator does.
TEST_F(FormatSearchTest, EveryCombinationComputesWhatItsGraphSays) {
  auto network = Formats4();
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto samples = quantize::SyntheticSamples(SmallNetwork(), 2);
  const auto exact = quantize::OutputsFor(SmallNetwork(), samples, 1);
  ASSERT_TRUE(exact.ok());
  for (int number = 0; number < 81; number += 4) {  // 21 of them, each pair of neighbours in one
    Formats formats;
    for (int i = 0, rest = number; i < 4; ++i, rest /= 3) {
      formats.push_back(kFormats[(rest + number / 4) % 3]);
    }
    const std::string code = CodeOf(formats);
    auto graph = network->Build(formats);
    ASSERT_TRUE(graph.ok()) << code << ": " << graph.status().message();
    const std::string path = folder_->path() + "/" + code + ".so";
    const auto compiled = Compile(*std::move(graph), Options(), path);
    ASSERT_TRUE(compiled.ok()) << code << ": " << compiled.status().message();
    const auto library = ModelLibrary::Open(path);
    ASSERT_TRUE(library.ok()) << code << ": " << library.status().message();
    const auto evaluated = network->BuildToEvaluate(formats);
    ASSERT_TRUE(evaluated.ok()) << code << ": " << evaluated.status().message();
    const auto expected = quantize::OutputsFor(*evaluated, samples, 1);
    ASSERT_TRUE(expected.ok()) << code << ": " << expected.status().message();
    OutputErrorSum between, from_exact;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto outputs = library->Run(samples[i]);
      ASSERT_TRUE(outputs.ok()) << code << ": " << outputs.status().message();
      between.Add((*expected)[i], *outputs);
      from_exact.Add((*exact)[i], *outputs);
    }
    EXPECT_GT(between.Get().SqnrDb(), 55) << code;
    EXPECT_GT(from_exact.Get().SqnrDb(), 20) << code;
  }
}

TEST_F(FormatSearchTest, TheChosenLibraryKeepsTheBoundAndASecondRunFindsEveryStep) {
  SearchSettings settings;
  settings.store = folder_->path() + "/records.db";
  settings.reference_threads = 1;
  std::vector<std::string> notes;
  settings.note = [&notes](const std::string& text) { notes.push_back(text); };
  const auto samples = [] { return quantize::SyntheticSamples(SmallNetwork(), 12); };
  CompiledModel compiled;
  const std::string path = folder_->path() + "/out.so";
  const auto report = SearchFormats(Request(), samples(), settings, path, compiled);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->steps_found, 0U);
  EXPECT_EQ(report->sites.size(), 4U);
  ASSERT_LT(report->chosen, report->combinations.size());
  const Combination& chosen = report->combinations[report->chosen];
  if (chosen.held_out) {
    EXPECT_GE(chosen.held_out->SqnrDb(), 30);
  }
  std::set<std::string> codes;
  for (const Combination& one : report->combinations) {
    EXPECT_TRUE(codes.insert(CodeOf(one.formats)).second);
  }
  for (const char* code : {"ffff", "bbbb", "iiii"}) EXPECT_TRUE(codes.contains(code)) << code;
  EXPECT_EQ(report->predicted_front.front(), std::pair(1.0, 0.0));
  EXPECT_TRUE(ModelLibrary::Open(path).ok());

  const auto again = SearchFormats(Request(), samples(), settings, path, compiled);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_GT(again->steps_found, 10U);
  EXPECT_THAT(notes, testing::Contains(HasSubstr("resumes: ")));
  EXPECT_EQ(again->chosen, report->chosen);
  ASSERT_EQ(again->combinations.size(), report->combinations.size());
  for (std::size_t i = 0; i < report->combinations.size(); ++i) {
    EXPECT_EQ(again->combinations[i].formats, report->combinations[i].formats);
    EXPECT_EQ(again->combinations[i].ratio, report->combinations[i].ratio);
  }
}

TEST_F(FormatSearchTest, RefusesANetworkWithoutProducts) {
  auto graph = ImportRelay("def @main(%x: Tensor[(4), float32]) {\nnn.relu(%x)\n}\n", "plain");
  ASSERT_TRUE(graph.ok());
  const auto network = NetworkFormats::Create(*std::move(graph), target_, {}, 1);
  EXPECT_EQ(network.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright::optimize
