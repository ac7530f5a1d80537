// Queries through the C interface: the contents of answers, and the rejection of invalid input.

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <string_view>

#include "src/base/json.h"
#include "tests/capi/capi_fixture.h"
#include "tests/support/built_in.h"

namespace tilewright::capi {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using QueryTest = CapiTest;

TEST_F(QueryTest, ALibraryNobodyNamedIsPassedOverByName) {
  const Trial trial = OkTrial(ConvKey(), 188, 0.002);
  Write(path_, {trial, records::SampleCall(0.001)});
  Add(path_);
  const auto answer = Ask(ConvKey());
  ASSERT_NE(answer, nullptr) << error_.message;
  EXPECT_EQ(tw_answer_kind(answer.get()), TW_KIND_HIT);
  EXPECT_EQ(tw_answer_template(answer.get()), trial.candidate.template_key);
  EXPECT_THAT(tw_answer_explanation(answer.get()),
              HasSubstr("passed over: conv2d.dnnl in 0.001 seconds (oneDNN 2.6.3)"));
}

TEST_F(QueryTest, HitTellsKnobsCostAndProvenance) {
  const Trial trial = OkTrial(ConvKey(), 188, 0.002);
  Write(path_, {trial, OkTrial(ConvKey(), 3, 0.003)});
  Add(path_);
  const auto answer = Ask(ConvKey());
  ASSERT_NE(answer, nullptr) << error_.message;
  EXPECT_EQ(tw_answer_kind(answer.get()), TW_KIND_HIT);
  EXPECT_EQ(tw_answer_cost_seconds(answer.get()), 0.002);
  EXPECT_EQ(tw_answer_expected_slowdown(answer.get()), 1.0);
  EXPECT_EQ(tw_answer_workload(answer.get()), ConvKey());
  EXPECT_STREQ(tw_answer_target(answer.get()), tw_target_text(target_.get()));
  EXPECT_THAT(tw_answer_explanation(answer.get()), StartsWith("hit: fastest verified trial"));
  EXPECT_EQ(tw_answer_difference_count(answer.get()), 0U);
  EXPECT_EQ(tw_answer_difference(answer.get(), 0), nullptr);
  EXPECT_EQ(tw_answer_template(answer.get()), trial.candidate.template_key);
  EXPECT_EQ(tw_answer_template_version(answer.get()), trial.candidate.template_version);
  EXPECT_EQ(tw_answer_config_index(answer.get()), 188);
  EXPECT_EQ(tw_answer_config(answer.get()), trial.candidate.config.ToString());

  const auto& values = trial.candidate.config.values;
  const TemplateEntry* entry = BuiltInTemplates().Find(trial.candidate.template_key);
  const auto space =
      entry->define_space(trial.candidate.task.workload, trial.candidate.task.target);
  ASSERT_EQ(tw_answer_knob_count(answer.get()), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    tw_knob knob = TW_KNOB_INIT;
    ASSERT_EQ(tw_answer_knob(answer.get(), i, &knob, &error_), TW_OK) << error_.message;
    EXPECT_EQ(knob.name, values[i].first);
    EXPECT_EQ(knob.text, values[i].second.ToString());
    EXPECT_EQ(knob.kind, static_cast<int>(space->knobs()[i].kind())) << knob.name;
    tw_knob found = TW_KNOB_INIT;
    ASSERT_EQ(tw_answer_find_knob(answer.get(), knob.name, &found, nullptr), TW_OK);
    EXPECT_EQ(found.text, knob.text);
    if (knob.value_type != TW_VALUE_INTEGERS) continue;
    EXPECT_EQ(std::vector(knob.integers, knob.integers + knob.count), values[i].second.factors());
  }

  tw_record record = TW_RECORD_INIT;
  ASSERT_EQ(tw_answer_record(answer.get(), &record, &error_), TW_OK) << error_.message;
  EXPECT_EQ(record.source, path_);
  EXPECT_EQ(std::string_view(record.id).size(), 32U);
  EXPECT_EQ(record.workload, ConvKey());
  EXPECT_STREQ(record.device_model, "Test CPU");
  EXPECT_EQ(record.device, SampleDevice().ToString());
  EXPECT_STREQ(record.metric, "seconds");
  EXPECT_EQ(record.verified, 1);
  EXPECT_EQ(record.measured_unix_seconds, 1.75e9);
  ASSERT_EQ(record.sample_count, 3U);
  EXPECT_EQ(record.samples[1], 0.002 * 1.01);
}

TEST_F(QueryTest, EveryTypeOfKnobIsReadable) {
  // No template of Tilewright has all of them; records of other templates are served as written.
  const std::string log = folder_->path() + "/odd.log";
  ASSERT_TRUE(WriteFile(log,
                        R"({"input": ["llvm", "my_op.x86", [["TENSOR", [7], "float32"]], {}], )"
                        R"("config": {"index": 7, "code_hash": null, "entity": [)"
                        R"(["split", "sp", [1, 64]], ["reorder", "re", [0, 2, 1]], )"
                        R"(["words", "an", ["none", "vec"]], ["number", "ot", 16], )"
                        R"(["flag", "ot", true], ["word", "ot", "unroll"]]}, )"
                        R"("result": [[0.5], 0, 1.0, 2.0], "version": 0.2, "tvm_version": "0.7"})"
                        "\n")
                  .ok());
  ASSERT_EQ(tw_catalog_add_log(catalog_.get(), log.c_str(), &error_), TW_OK) << error_.message;
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  options.rule = TW_RULE_AUTOTVM;
  tw_answer* found = nullptr;
  constexpr const char* kTuple = "('my_op.x86', ('TENSOR', (7,), 'float32'))";
  ASSERT_EQ(tw_query_tuple(catalog_.get(), target_.get(), kTuple, &options, &found, &error_), TW_OK)
      << error_.message;
  const Owned<tw_answer> answer(found);
  struct Expected {
    const char* name;
    int kind, type;
    std::size_t count;
    const char* text;
  };
  const Expected all[] = {
      {"split", TW_KNOB_SPLIT, TW_VALUE_INTEGERS, 2, "[1,64]"},
      {"reorder", TW_KNOB_REORDER, TW_VALUE_INTEGERS, 3, "[0,2,1]"},
      {"words", TW_KNOB_ANNOTATE, TW_VALUE_STRINGS, 2, R"(["none","vec"])"},
      {"number", TW_KNOB_OTHER, TW_VALUE_INTEGER, 1, "16"},
      {"flag", TW_KNOB_OTHER, TW_VALUE_BOOL, 1, "true"},
      {"word", TW_KNOB_OTHER, TW_VALUE_STRING, 1, "\"unroll\""},
  };
  for (const Expected& expected : all) {
    tw_knob knob = TW_KNOB_INIT;
    ASSERT_EQ(tw_answer_find_knob(answer.get(), expected.name, &knob, &error_), TW_OK);
    EXPECT_EQ(knob.kind, expected.kind) << expected.name;
    EXPECT_EQ(knob.value_type, expected.type) << expected.name;
    EXPECT_EQ(knob.count, expected.count) << expected.name;
    EXPECT_STREQ(knob.text, expected.text);
  }
  tw_knob knob = TW_KNOB_INIT;
  ASSERT_EQ(tw_answer_find_knob(answer.get(), "words", &knob, nullptr), TW_OK);
  EXPECT_STREQ(knob.strings[1], "vec");
  ASSERT_EQ(tw_answer_find_knob(answer.get(), "flag", &knob, nullptr), TW_OK);
  EXPECT_EQ(knob.integers[0], 1);
  ASSERT_EQ(tw_answer_find_knob(answer.get(), "word", &knob, nullptr), TW_OK);
  EXPECT_STREQ(knob.strings[0], "unroll");
  EXPECT_EQ(tw_answer_find_knob(answer.get(), "none", &knob, &error_), TW_NOT_FOUND);
  EXPECT_STREQ(error_.message, "the config has no knob 'none'");
  EXPECT_EQ(tw_answer_knob(answer.get(), 6, &knob, &error_), TW_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "knob 6, the answer has 6");
}

TEST_F(QueryTest, KeyTupleAndDescriptionAskTheSame) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.001)});
  Add(path_);
  const auto by_key = Ask(DenseKey(1));
  tw_answer* by_tuple = nullptr;
  ASSERT_EQ(tw_query_tuple(catalog_.get(), target_.get(),
                           "('dense_nopack.x86', ('TENSOR', (1, 512), 'float32'), ('TENSOR', "
                           "(1000, 512), 'float32'), None, 'float32')",
                           nullptr, &by_tuple, &error_),
            TW_OK)
      << error_.message;
  const Owned<tw_answer> owned_tuple(by_tuple);
  tw_operator* op = nullptr;
  ASSERT_EQ(tw_operator_create("dense", &op, &error_), TW_OK);
  const Owned<tw_operator> owned_op(op);
  const std::int64_t data[] = {1, 512}, weight[] = {1000, 512};
  ASSERT_EQ(tw_operator_add_tensor(op, "float32", data, 2, &error_), TW_OK);
  ASSERT_EQ(tw_operator_add_tensor(op, "float32", weight, 2, &error_), TW_OK);
  tw_answer* by_operator = nullptr;
  ASSERT_EQ(tw_query_operator(catalog_.get(), target_.get(), op, nullptr, &by_operator, &error_),
            TW_OK)
      << error_.message;
  const Owned<tw_answer> owned_operator(by_operator);
  for (const tw_answer* answer : {by_tuple, by_operator}) {
    EXPECT_EQ(tw_answer_kind(answer), TW_KIND_HIT);
    EXPECT_STREQ(tw_answer_config(answer), tw_answer_config(by_key.get()));
    EXPECT_EQ(tw_answer_workload(answer), DenseKey(1));
  }
}

// Answers to descriptions are cached too, and must be distinct from those for other weights.
TEST_F(QueryTest, DescriptionsOfNarrowWeightsAreQuestionsOfTheirOwn) {
  const std::string wide = "dense(uint8[1,64]MK,int8[96,64]NK)->int32";
  const std::string narrow = "dense(uint8[1,64]MK,int8[96,64]NK,w64)->int32";
  Write(path_, {OkTrial(wide, 0, 0.002), OkTrial(narrow, 0, 0.001)});
  Add(path_);
  tw_operator* op = nullptr;
  ASSERT_EQ(tw_operator_create("dense", &op, &error_), TW_OK);
  const Owned<tw_operator> owned_op(op);
  const std::int64_t data[] = {1, 64}, weight[] = {96, 64};
  ASSERT_EQ(tw_operator_add_tensor(op, "uint8", data, 2, &error_), TW_OK);
  ASSERT_EQ(tw_operator_add_tensor(op, "int8", weight, 2, &error_), TW_OK);
  for (const std::int64_t said : {0, 1, 0, 1}) {
    ASSERT_EQ(tw_operator_set_integers(op, "narrow_weights", &said, 1, &error_), TW_OK);
    tw_answer* answer = nullptr;
    ASSERT_EQ(tw_query_operator(catalog_.get(), target_.get(), op, nullptr, &answer, &error_),
              TW_OK)
        << error_.message;
    const Owned<tw_answer> owned(answer);
    EXPECT_EQ(tw_answer_kind(answer), TW_KIND_HIT);
    EXPECT_EQ(tw_answer_workload(answer), said == 1 ? narrow : wide);
    EXPECT_EQ(tw_answer_cost_seconds(answer), said == 1 ? 0.001 : 0.002);
  }
}

TEST_F(QueryTest, CallerSaysHowFarDownToGo) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.001)});
  Add(path_);
  const auto near = Ask(DenseKey(2));
  EXPECT_EQ(tw_answer_kind(near.get()), TW_KIND_NEAR);
  EXPECT_GT(tw_answer_expected_slowdown(near.get()), 1.0);
  EXPECT_TRUE(std::isnan(tw_answer_cost_seconds(near.get()))) << "another workload was measured";
  ASSERT_EQ(tw_answer_difference_count(near.get()), 1U);
  EXPECT_EQ(tw_answer_difference(near.get(), 0),
            "workload: measured '" + DenseKey(1) + "', asked '" + DenseKey(2) + "'");

  const auto miss = Ask(DenseKey(2), TW_ACCEPT_HIT);
  EXPECT_EQ(tw_answer_kind(miss.get()), TW_KIND_MISS);
  EXPECT_THAT(tw_answer_explanation(miss.get()), StartsWith("not accepted: near hit"));
  EXPECT_EQ(tw_answer_knob_count(miss.get()), 0U);
  EXPECT_STREQ(tw_answer_config(miss.get()), "");
  tw_record record = TW_RECORD_INIT;
  EXPECT_EQ(tw_answer_record(miss.get(), &record, &error_), TW_NOT_FOUND);
  EXPECT_STREQ(error_.message, "a miss has no record");

  const auto standard = Ask(DenseKey(2), TW_ACCEPT_HIT | TW_ACCEPT_DEFAULT);
  EXPECT_EQ(tw_answer_kind(standard.get()), TW_KIND_DEFAULT);
  EXPECT_GT(tw_answer_knob_count(standard.get()), 0U);
  EXPECT_THAT(tw_answer_explanation(standard.get()), StartsWith("default config of "));
  EXPECT_THAT(tw_answer_explanation(standard.get()), HasSubstr("not accepted: near hit"));
  EXPECT_EQ(tw_answer_kind(Ask(DenseKey(1), TW_ACCEPT_DEFAULT).get()), TW_KIND_DEFAULT);
}

TEST_F(QueryTest, SourcesAnswerInTheirOrder) {
  const std::string second = folder_->path() + "/second.db";
  Write(path_, {OkTrial(DenseKey(1), 5, 0.002)});
  Write(second, {OkTrial(DenseKey(1), 6, 0.001), OkTrial(DenseKey(2), 7, 0.001)});
  Add(path_);
  EXPECT_EQ(tw_answer_kind(Ask(DenseKey(2)).get()), TW_KIND_NEAR);
  Add(second);
  EXPECT_EQ(tw_catalog_source_count(catalog_.get()), 2U);
  EXPECT_EQ(tw_catalog_source_path(catalog_.get(), 1), second);
  EXPECT_EQ(tw_catalog_source_path(catalog_.get(), 2), nullptr);
  EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(1)).get()), 5) << "the first store decides";
  EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(2)).get()), 7) << "a hit comes before a near hit";
}

TEST_F(QueryTest, CatalogWithoutSourcesKnowsTheDefaultsOnly) {
  EXPECT_STREQ(tw_answer_explanation(Ask(DenseKey(1)).get()),
               "miss: the catalog has no stores or packages");
  EXPECT_EQ(tw_answer_kind(Ask(DenseKey(1), TW_ACCEPT_DEFAULT).get()), TW_KIND_DEFAULT);
}

TEST_F(QueryTest, JsonHasTheDocumentedMembers) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.001)});
  Add(path_);
  for (const std::string& key : {DenseKey(1), DenseKey(2), ConvKey()}) {
    const auto answer = Ask(key);
    std::size_t needed = 0;
    ASSERT_EQ(tw_answer_json(answer.get(), nullptr, 0, &needed, &error_), TW_OK);
    std::string text(needed, '?');
    EXPECT_EQ(tw_answer_json(answer.get(), text.data(), needed - 1, &needed, &error_),
              TW_TOO_SMALL);
    EXPECT_EQ(text, std::string(needed, '?')) << "nothing is written";
    ASSERT_EQ(tw_answer_json(answer.get(), text.data(), needed, &needed, &error_), TW_OK);
    EXPECT_EQ(text.back(), '\0');
    text.pop_back();
    const auto json = ParseJson(text);
    ASSERT_TRUE(json.ok()) << text;
    EXPECT_EQ((*json)["workload"], key);
    EXPECT_EQ((*json)["kind"], tw_kind_name(tw_answer_kind(answer.get())));
    EXPECT_EQ((*json)["why"], tw_answer_explanation(answer.get()));
    for (const char* member : {"target", "cost_seconds", "config", "record", "differs"}) {
      EXPECT_TRUE(json->contains(member)) << member;
    }
  }
}

TEST_F(QueryTest, RefusesWhatItDoesNotUnderstand) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.001)});
  Add(path_);
  EXPECT_EQ(Ask("dense(float32["), nullptr);
  EXPECT_EQ(code_, TW_INVALID_ARGUMENT);
  EXPECT_EQ(error_.code, TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("position 14: expected an integer"));
  EXPECT_EQ(Ask(std::string(100'000, 'x')), nullptr);
  EXPECT_EQ(Ask(DenseKey(1), 0), nullptr);
  EXPECT_EQ(code_, TW_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(DenseKey(1), 1U << 31), nullptr);
  EXPECT_EQ(code_, TW_UNSUPPORTED);
  EXPECT_EQ(Ask(DenseKey(1), TW_ACCEPT_MEASURED | TW_ACCEPT_MODEL), nullptr);
  EXPECT_EQ(code_, TW_UNSUPPORTED);
  EXPECT_STREQ(error_.message, "TW_ACCEPT_MODEL: the catalog has no model (tw_catalog_set_model)");

  tw_answer* answer = nullptr;
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  options.rule = 77;
  EXPECT_EQ(
      tw_query_key(catalog_.get(), target_.get(), DenseKey(1).c_str(), &options, &answer, &error_),
      TW_UNSUPPORTED);
  options = TW_QUERY_OPTIONS_INIT;
  options.struct_size = 4;
  EXPECT_EQ(
      tw_query_key(catalog_.get(), target_.get(), DenseKey(1).c_str(), &options, &answer, &error_),
      TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_catalog_add_store(catalog_.get(), "/nowhere/records.db", &error_), TW_NOT_FOUND);
  EXPECT_STREQ(error_.message, "/nowhere/records.db: no such record store");
  EXPECT_EQ(tw_catalog_source_count(catalog_.get()), 1U);
}

TEST_F(QueryTest, NullPointersAreRefused) {
  tw_answer* answer = nullptr;
  tw_target* target = nullptr;
  const std::string key = DenseKey(1);
  EXPECT_EQ(tw_query_key(nullptr, target_.get(), key.c_str(), nullptr, &answer, nullptr),
            TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_query_key(catalog_.get(), nullptr, key.c_str(), nullptr, &answer, nullptr),
            TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_query_key(catalog_.get(), target_.get(), nullptr, nullptr, &answer, nullptr),
            TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_query_key(catalog_.get(), target_.get(), key.c_str(), nullptr, nullptr, nullptr),
            TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_query_operator(catalog_.get(), target_.get(), nullptr, nullptr, &answer, nullptr),
            TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_catalog_create(nullptr, nullptr), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_target_create(nullptr, nullptr, nullptr, nullptr), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_catalog_add_store(catalog_.get(), nullptr, nullptr), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_answer_knob(nullptr, 0, nullptr, nullptr), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_answer_json(nullptr, nullptr, 0, nullptr, nullptr), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_answer_kind(nullptr), TW_KIND_MISS);
  EXPECT_EQ(tw_target_create("llvm llvm -mcpu", nullptr, &target, &error_), TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, StartsWith("target token"));
  EXPECT_EQ(tw_target_create(nullptr, "no JSON", &target, &error_), TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, StartsWith("device fingerprint"));
  EXPECT_EQ(target, nullptr);
  tw_catalog_free(nullptr);
  tw_target_free(nullptr);
  tw_operator_free(nullptr);
  tw_answer_free(nullptr);
  tw_model_free(nullptr);
}

TEST_F(QueryTest, ErrorTextIsCutToTheCallersStruct) {
  struct {
    tw_error error = TW_ERROR_INIT;
  } small;
  small.error.struct_size = offsetof(tw_error, message) + 8;
  std::memset(small.error.message, '?', sizeof small.error.message);
  EXPECT_EQ(tw_catalog_add_store(catalog_.get(), "/nowhere/records.db", &small.error),
            TW_NOT_FOUND);
  EXPECT_STREQ(small.error.message, "/nowher");
  EXPECT_EQ(small.error.message[8], '?');
  EXPECT_STREQ(tw_code_name(TW_NOT_FOUND), "not found");
  EXPECT_STREQ(tw_code_name(1000), "unknown code");
  EXPECT_STREQ(tw_kind_name(-1), "unknown kind");
  EXPECT_EQ(tw_api_version(), TW_API_VERSION);
}

}  // namespace
}  // namespace tilewright::capi
