// A session from a model file to tasks, a library, a run and its verification, on this machine.

#include "src/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/files/locked_temp_dir.h"
#include "src/session/target.h"
#include "src/session/tasks.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright::session {
namespace {

using testing::HasSubstr;

const std::string kNetwork = TILEWRIGHT_SOURCE_DIR "/tests/fixtures/data/network.onnx";

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto target = ParseTarget("llvm -mcpu=x86-64-v3", 1);
    ASSERT_TRUE(target.ok()) << target.status().message();
    settings_.templates = &templates_;
    settings_.target = *target;
    settings_.records.user_store = false;
    settings_.records.no_packages = true;
    settings_.records.model_file = "none";
    settings_.records.accept = "default";
    settings_.note = [this](const std::string& text) { notes_.push_back(text); };
  }
  Session Make() const { return Session(settings_); }

  const TemplateRegistry templates_ = TemplateRegistry::BuiltIn();
  SessionSettings settings_;
  std::vector<std::string> notes_;
};

TEST_F(SessionTest, TasksAreThoseOfTheFile) {
  const auto tasks = Make().Tasks({kNetwork});
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  const auto same = TasksOfFile({kNetwork}, settings_.target);
  ASSERT_TRUE(same.ok());
  ASSERT_EQ(tasks->size(), same->size());
  ASSERT_FALSE(tasks->empty());
  const auto first = Make().Tasks({kNetwork + "#0"});
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ(first->front().task.workload, tasks->front().task.workload);
}

TEST_F(SessionTest, RefusesWhatIsNoModelByName) {
  const auto tasks = Make().Tasks({kNetwork + ".missing"});
  ASSERT_FALSE(tasks.ok());
  EXPECT_THAT(tasks.status().message(), HasSubstr("network.onnx.missing"));
  const auto beyond = Make().Tasks({kNetwork + "#99"});
  ASSERT_FALSE(beyond.ok());
  EXPECT_THAT(beyond.status().message(), HasSubstr("99"));
}

TEST_F(SessionTest, QueryWithoutRecordsIsADefault) {
  const auto tasks = Make().Tasks({kNetwork});
  ASSERT_TRUE(tasks.ok());
  const auto answer = Make().Query(tasks->front().task.workload);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->level, records::AnswerLevel::kDefault);
  settings_.records.stores = {"/nowhere/records.db"};
  EXPECT_THAT(Make().Query(tasks->front().task.workload).status().message(),
              HasSubstr("/nowhere/records.db"));
}

TEST_F(SessionTest, CompilesRunsAndVerifiesANetwork) {
  auto host = ParseTarget("native", 1);
  ASSERT_TRUE(host.ok()) << host.status().message();
  settings_.target = *host;
  const Session session = Make();
  auto folder = LockedTempDir::Create("tilewright-session");
  ASSERT_TRUE(folder.ok());
  const auto compiled =
      session.Compile({kNetwork}, folder->path() + "/net.so", [](CompileOptions& options) {
        options.name = "small";
        options.check = CheckLevel::kNone;
      });
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(compiled->name, "small");

  OpenOptions open;
  open.keep_source = true;
  auto network = session.Open({kNetwork}, open);
  ASSERT_TRUE(network.ok()) << network.status().message();
  std::vector<Tensor> inputs;
  for (const ModelValue& value : network->network->inputs()) {
    inputs.push_back(MakeSyntheticInput(value.name, value.type, SyntheticInputRule::kRandom));
  }
  const auto report = Session::Verify(*network, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
  const auto outputs = session.Run({kNetwork}, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ(outputs->size(), network->network->outputs().size());
}

TEST_F(SessionTest, NotesSyntheticConstantsOnce) {
  settings_.seeded = true;
  ASSERT_TRUE(Make().Prepare({kNetwork}).ok());
  int warnings = 0;
  for (const std::string& note : notes_) warnings += note.starts_with("warning: ") ? 1 : 0;
  EXPECT_EQ(warnings, 1);
}

}  // namespace
}  // namespace tilewright::session
