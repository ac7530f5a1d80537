// Selection from a record store by a library: the fastest kernels, and layouts for all layers
// together.

#include <gmock/gmock.h>

#include "records/package/catalog.h"
#include "records/store.h"
#include "src/graph/partition/tasks.h"
#include "src/templates/registry.h"
#include "tests/compiler/library_fixture.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

/// Records for the single workload of kTwoConvs: a config of conv2d_NCHWc.x86 for each block of
/// output channels, with its time.
class LibraryOfRecords : public Library {
 protected:
  Result<CompiledModel> CompileWith(const std::vector<std::pair<int, double>>& records) {
    return CompileWith(kTwoConvs, {records});
  }
  /// records: for each task of the graph.
  Result<CompiledModel> CompileWith(
      const char* text, const std::vector<std::vector<std::pair<int, double>>>& records) {
    auto graph = Load(text);
    auto tasks = ExtractTasks(graph);
    TW_RETURN_IF_ERROR(tasks);
    if (tasks->size() != records.size()) return Internal("records of other tasks");
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < records.size(); ++i) {
      for (const auto& [block, seconds] : records[i]) {
        auto trial = TrialOf((*tasks)[i].workload, (*tasks)[i].epilogue, block, seconds);
        TW_RETURN_IF_ERROR(trial);
        trials.push_back(*std::move(trial));
      }
    }
    for (int i = 0; i < stale_ + again_; ++i) {
      Trial trial = trials.front();
      trial.attempt = i + 1;
      if (i < stale_) {
        trial.value = 1e-6;
        trial.codegen_version -= 1;
      }
      trials.push_back(std::move(trial));
    }
    if (raced_ > 0) {
      Trial trial = trials.at(1);
      trial.attempt = 1;
      trial.value = raced_;
      trials.push_back(std::move(trial));
    }
    auto store = records::Store::Open(Path("records.db"), records::Store::Mode::kReadWrite);
    TW_RETURN_IF_ERROR(store);
    auto job = store->OpenJob("job", "{}", 1);
    TW_RETURN_IF_ERROR(job);
    TW_RETURN_IF_ERROR(store->Append(job->id, trials, {}));
    records::Catalog catalog;
    catalog.AddStore(*std::move(store));
    options_.catalog = &catalog;
    options_.on_miss = OnMiss::kFail;
    return Compile(std::move(graph), options_, Path("model.so"));
  }

  /// Additional trials of the first config: from an earlier version, and from the current one.
  int stale_ = 0, again_ = 0;
  double raced_ = 0;  ///< seconds of the second trial's config in a race; 0: no race

 private:
  Result<Trial> TrialOf(const Workload& workload, const Epilogue& epilogue, int block,
                        double seconds) {
    const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_NCHWc.x86");
    auto space = entry->define_space(workload, options_.target);
    TW_RETURN_IF_ERROR(space);
    const auto shape = ConvShapeOf(workload);
    TW_RETURN_IF_ERROR(shape);
    Config values = *entry->default_config(workload, options_.target);
    for (auto& [knob, value] : values.values) {
      if (knob != "tile_ic" && knob != "tile_oc") continue;
      const std::int64_t channels = knob == "tile_ic" ? shape->c : shape->k;
      value.value = std::vector<std::int64_t>{channels / block, block};
    }
    auto config = space->Locate(values);
    TW_RETURN_IF_ERROR(config);
    Trial trial;
    trial.candidate = {
        {workload, options_.target}, epilogue, std::string(entry->key), entry->version, *config};
    trial.outcome = Outcome::kOk;
    trial.samples = {seconds};
    trial.value = seconds;
    trial.verified = true;
    trial.max_abs_error = 2 * seconds;
    trial.device = options_.device;
    trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
    return trial;
  }
};

TEST_F(LibraryOfRecords, TakesTheFastestConfig) {
  auto model = CompileWith({{4, 1e-3}, {8, 1e-4}});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(model->untuned().empty());
  EXPECT_EQ(model->operators[1].template_key, "conv2d_NCHWc.x86");
  EXPECT_EQ(model->operators[1].answer, records::AnswerLevel::kHit);
  EXPECT_EQ(model->operators[1].layout, "NCHW8c");
  EXPECT_EQ(model->operators[1].max_abs_error, 2e-4);
  EXPECT_EQ(model->operators[0].max_abs_error, std::nullopt) << "a change of layout has no record";
}

/// A convolution, followed by one that is another task.
constexpr char kTwoTasks[] = R"(def @main(%data: Tensor[(1, 16, 8, 8), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  nn.conv2d(%1, meta[relay.Constant][1] /* ty=Tensor[(32, 16, 3, 3), float32] */, padding=[1, 1, 1, 1])
})";

TEST_F(LibraryOfRecords, GivesUpLittleToSaveAChangeOfLayout) {
  // A nanosecond apart; a layout transform costs about half a microsecond here.
  auto model = CompileWith(kTwoTasks, {{{2, 1e-5}, {8, 1.0001e-5}}, {{8, 1e-5}}});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->operators[1].layout, "NCHW8c");
  EXPECT_EQ(model->operators[1].max_abs_error, 2 * 1.0001e-5);
  EXPECT_THAT(model->operators[1].explanation, HasSubstr("saves changes of layout"));
  EXPECT_EQ(model->layouts.changed, 1);
}

TEST_F(LibraryOfRecords, SavesNoChangeOfLayoutThatCostsMore) {
  auto model = CompileWith(kTwoTasks, {{{2, 1e-5}, {8, 3e-5}}, {{8, 1e-5}}});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->operators[1].layout, "NCHW2c");
  EXPECT_EQ(model->layouts.changed, 0);
}

TEST_F(LibraryOfRecords, FindsOtherLayoutsBehindManyTrials) {
  stale_ = 300;  // faster trials of another version
  again_ = 300;  // of the fastest config
  auto model = CompileWith(kTwoTasks, {{{2, 1e-5}, {8, 1.0001e-5}}, {{8, 1e-5}}});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->operators[1].layout, "NCHW8c");
}

TEST_F(LibraryOfRecords, BelievesARaceBeforeALuckyTrial) {
  raced_ = 3e-5;
  auto model = CompileWith(kTwoTasks, {{{2, 1e-5}, {8, 1.0001e-5}}, {{8, 1e-5}}});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->operators[1].layout, "NCHW2c");
}

// The fastest kernels of the layers use different layouts, and each layer alone would keep its own.
// A layout transform between them costs more than both lose with a common third layout.
TEST_F(LibraryOfRecords, WeighsAllLayersTogether) {
  auto model = CompileWith(kTwoTasks, {{{2, 1e-5}, {8, 1.01e-5}}, {{16, 1e-5}, {8, 1.01e-5}}});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->operators[1].layout, "NCHW8c");
  EXPECT_EQ(model->operators[2].layout, "NCHW8c");
  EXPECT_EQ(model->layouts.changed, 2);
}

}  // namespace
}  // namespace tilewright
