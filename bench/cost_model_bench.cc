// Candidates scored per second on one core: template application, loop summary, features,
// prediction. The first three use built-in templates. The others are large spaces: from auto rules,
// and from the text schedule bench/large_dense.tws (run it in the source directory).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cost_model/cost_model.h"
#include "cost_model/xgboost_model.h"
#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/schedule/summary.h"
#include "src/templates/registry.h"
#include "src/templates/text/text_template.h"
#include "src/tensor/expression/expression.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

constexpr int kBatch = 256;

struct Case {
  const char* name;
  const char* workload;
  const char* epilogue;
  const char* template_key = nullptr;  ///< null: the preferred one
};
constexpr const char* kLargeText = "bench/large_dense.tws";
constexpr Case kCases[] = {
    {"conv3x3",
     "conv2d(float32[1,128,28,28]NCHW,float32[128,128,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"conv1x1",
     "conv2d(float32[1,256,14,14]NCHW,float32[1024,256,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"dense", "dense(float32[1,512]MK,float32[1000,512]NK)->float32", "add(channel:float32)"},
    {"auto.conv3x3",
     "input X: float32[1, 64, 58, 58]\nconst W: float32[64, 64, 3, 3]\n"
     "C[n: 1, k: 64, y: 56, x: 56] = sum(c: 64, r: 3, s: 3) X[n, c, y + r, x + s] * W[k, c, r, s]",
     "", "auto.cpu/tiles"},
    {"auto.dense",
     "input A: float32[512, 1024]\nconst B: float32[2048, 1024]\n"
     "C[i: 512, j: 2048] = sum(k: 1024) A[i, k] * B[j, k]",
     "", "auto.cpu/tiles"},
    {"auto.softmax_like", "input A: float32[512, 1024]\nC[i: 512] = sum(k: 1024) exp(A[i, k])", "",
     "auto.cpu/flat"},
    {"text.dense", "dense(float32[512,1024]MK,float32[2048,1024]NK)->float32", "", kLargeText},
};

/// Parses a workload's key, or the text of an expression.
Result<Workload> WorkloadOf(const char* text) {
  if (std::strchr(text, '=') == nullptr) return Workload::Parse(text);
  TW_ASSIGN_OR_RETURN(auto expression, ParseExpression(text));
  return Workload::FromExpression(expression);
}

Result<const TemplateEntry*> EntryOf(const Case& one, const Workload& workload,
                                     const Target& target, TemplateRegistry& templates) {
  if (one.template_key == nullptr) return templates.For(workload, target).front();
  if (one.template_key != kLargeText) return templates.Find(one.template_key);
  TW_ASSIGN_OR_RETURN(const auto bytes, ReadFile(kLargeText));
  TW_ASSIGN_OR_RETURN(auto text, ParseScheduleText(bytes, kLargeText));
  const std::string key = text.key;
  TW_RETURN_IF_ERROR(AddScheduleText(templates, std::move(text)));
  return templates.Find(key);
}

void Fail(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.message().c_str());
  std::exit(1);
}

/// All steps by which a search scores one candidate, part by part.
class Scorer {
 public:
  explicit Scorer(const Case& one) {
    const auto workload = WorkloadOf(one.workload);
    Fail(workload.status(), one.name);
    workload_ = *workload;
    const auto epilogue = Epilogue::Parse(one.epilogue);
    Fail(epilogue.status(), one.name);
    epilogue_ = *epilogue;
    target_ = *Target::Parse("llvm -mcpu=skylake-avx512");
    const auto entry = EntryOf(one, workload_, target_, templates_);
    Fail(entry.status(), one.name);
    entry_ = *entry;
    auto space = entry_->define_space(workload_, target_);
    Fail(space.status(), one.name);
    space_ = *std::move(space);
    row_.resize(static_cast<std::size_t>(cost_model::FeatureCount()));
    Train();
  }

  Config Draw() {
    return space_.At(
        static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(space_.size()))));
  }
  Result<Kernel> Apply(const Config& config) const {
    return entry_->apply(workload_, epilogue_, target_, config);
  }
  /// Appends the features of a legal candidate.
  bool Describe(std::vector<float>& rows) {
    const Config config = Draw();
    const auto kernel = Apply(config);
    if (!kernel.ok()) return false;
    const auto summary = Summarize(kernel->schedule);
    if (!summary.ok()) return false;
    cost_model::ExtractFeatures(*summary, config, row_);
    rows.insert(rows.end(), row_.begin(), row_.end());
    return true;
  }
  const cost_model::XgboostModel& model() const { return model_; }
  double size() const { return static_cast<double>(space_.size()); }

 private:
  void Train() {
    cost_model::Dataset data;
    while (data.rows() < kBatch) {
      if (Describe(data.features)) data.scores.push_back(static_cast<float>(random_.Uniform()));
    }
    data.group_sizes = {kBatch};
    Fail(model_.Train(data), "training");
  }

  Workload workload_;
  Epilogue epilogue_;
  Target target_;
  TemplateRegistry templates_ = BuiltInTemplates();
  const TemplateEntry* entry_ = nullptr;
  ConfigSpace space_;
  Random random_{1};
  std::vector<float> row_;
  cost_model::XgboostModel model_;
};

/// Bar: at least 10,000 candidates per second, 20,000 in large spaces.
void Score(benchmark::State& state) {
  Scorer scorer(kCases[state.range(0)]);
  std::vector<float> rows;
  std::int64_t legal = 0, all = 0;
  for (auto _ : state) {
    rows.clear();
    for (int i = 0; i < kBatch; ++i) legal += scorer.Describe(rows) ? 1 : 0;
    all += kBatch;
    benchmark::DoNotOptimize(scorer.model().Predict(rows));
  }
  state.SetItemsProcessed(all);
  state.counters["legal_share"] = static_cast<double>(legal) / static_cast<double>(all);
  state.counters["configs"] = scorer.size();
  state.SetLabel(kCases[state.range(0)].name);
}
BENCHMARK(Score)->DenseRange(0, std::size(kCases) - 1)->Unit(benchmark::kMillisecond);

void ApplyTemplate(benchmark::State& state) {
  Scorer scorer(kCases[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(scorer.Apply(scorer.Draw()));
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(kCases[state.range(0)].name);
}
BENCHMARK(ApplyTemplate)->DenseRange(0, std::size(kCases) - 1)->Unit(benchmark::kMicrosecond);

void SummarizeLoops(benchmark::State& state) {
  Scorer scorer(kCases[state.range(0)]);
  auto kernel = scorer.Apply(scorer.Draw());
  while (!kernel.ok()) kernel = scorer.Apply(scorer.Draw());
  for (auto _ : state) benchmark::DoNotOptimize(Summarize(kernel->schedule));
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(kCases[state.range(0)].name);
}
BENCHMARK(SummarizeLoops)->DenseRange(0, std::size(kCases) - 1)->Unit(benchmark::kMicrosecond);

void Predict(benchmark::State& state) {
  Scorer scorer(kCases[0]);
  std::vector<float> rows;
  const auto width = static_cast<std::size_t>(cost_model::FeatureCount());
  while (rows.size() < kBatch * width) scorer.Describe(rows);
  for (auto _ : state) benchmark::DoNotOptimize(scorer.model().Predict(rows));
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(Predict)->Unit(benchmark::kMicrosecond);

void TrainFromStart(benchmark::State& state) {
  Scorer scorer(kCases[0]);
  cost_model::Dataset data;
  Random random(2);
  const auto wanted = static_cast<std::size_t>(state.range(0));
  while (data.rows() < wanted) {
    if (scorer.Describe(data.features)) {
      data.scores.push_back(static_cast<float>(random.Uniform()));
    }
  }
  data.group_sizes = {static_cast<std::uint32_t>(wanted)};
  for (auto _ : state) {
    cost_model::XgboostModel model;
    benchmark::DoNotOptimize(model.Train(data).ok());
  }
}
BENCHMARK(TrainFromStart)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright

BENCHMARK_MAIN();
