// Records of text schedules, queried through the C interface.

#include <gtest/gtest.h>

#include "records/validation/schedules.h"
#include "src/templates/text/text_template.h"
#include "tests/capi/capi_fixture.h"
#include "tests/support/built_in.h"

namespace tilewright::capi {
namespace {

constexpr const char* kRowsText =
    "schedule rows for dense on llvm\n"
    "knob rows = {1, 2, 4}\n"
    "sum = stage(\"reduce\")\n"
    "tile, row = split(axis(sum, 0), rows)\n";

class ScheduleTextTest : public CapiTest {
 protected:
  void SetUp() override {
    CapiTest::SetUp();
    auto text = ParseScheduleText(kRowsText);
    ASSERT_TRUE(text.ok()) << text.status().message();
    key_of_text_ = text->key;
    ASSERT_TRUE(AddScheduleText(templates_, *std::move(text)).ok());
  }
  /// Returns the fastest trial of a task, by the text.
  Trial TrialOfText(const std::string& key) {
    Trial trial = OkTrial(key, 2, 0.001);
    trial.candidate.template_key = key_of_text_;
    trial.candidate.template_version = kScheduleTextVersion;
    trial.candidate.config = templates_.Find(key_of_text_)
                                 ->define_space(*Workload::Parse(key), *Target::Parse(kTarget))
                                 ->At(2);
    return trial;
  }
  void KeepTexts() {
    auto store = records::Store::Open(path_, records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(records::StoreScheduleTexts(*store, templates_).ok());
  }
  std::string TemplateOf(const std::string& key) {
    const auto answer = Ask(key);
    return answer != nullptr ? tw_answer_template(answer.get()) : error_.message;
  }

  std::string key_of_text_;
  TemplateRegistry templates_ = BuiltInTemplates();
};

TEST_F(ScheduleTextTest, IsServedOnceTheStoreHasIt) {
  Write(path_, {TrialOfText(DenseKey(4)), OkTrial(DenseKey(4), 1, 0.002)});
  Add(path_);
  // A catalog without the text skips its record.
  EXPECT_NE(TemplateOf(DenseKey(4)), key_of_text_);

  // The next poll of the store finds texts that were added later, and their tasks.
  KeepTexts();
  Write(path_, {TrialOfText(DenseKey(8))});
  ASSERT_EQ(tw_catalog_refresh(catalog_.get(), &error_), TW_OK) << error_.message;
  EXPECT_EQ(TemplateOf(DenseKey(4)), key_of_text_);
  EXPECT_EQ(TemplateOf(DenseKey(8)), key_of_text_);

  const auto answer = Ask(DenseKey(8));
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(tw_answer_template_version(answer.get()), kScheduleTextVersion);

  // The answer keeps the text for its kernel.
  catalog_.reset();
  tw_kernel* kernel = nullptr;
  ASSERT_EQ(tw_answer_kernel(answer.get(), nullptr, &kernel, &error_), TW_OK) << error_.message;
  EXPECT_EQ(tw_node_text(tw_node_get(tw_kernel_root(kernel), "template")), key_of_text_);
  tw_kernel_free(kernel);
}

TEST_F(ScheduleTextTest, OneThatIsNotThatOfItsNameServesNothing) {
  Write(path_, {TrialOfText(DenseKey(4)), OkTrial(DenseKey(4), 1, 0.002)});
  auto store = records::Store::Open(path_, records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok() && store->SetFact(key_of_text_, "schedule rows for dense on llvm").ok());
  Add(path_);
  const std::string served = TemplateOf(DenseKey(4));
  EXPECT_NE(served, key_of_text_);
  EXPECT_FALSE(served.empty());
}

}  // namespace
}  // namespace tilewright::capi
