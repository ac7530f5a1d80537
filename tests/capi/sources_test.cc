// Sources of a catalog other than stores: packages, AutoTVM logs, a cost model.

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "cost_model/tree_model.h"
#include "records/autotvm/import.h"
#include "records/package/build.h"
#include "records/package/installed.h"
#include "src/base/json.h"
#include "tests/capi/capi_fixture.h"
#include "tests/records/autotvm_lines.h"
#include "tests/support/built_in.h"

namespace tilewright::capi {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class SourcesTest : public CapiTest {
 protected:
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }

  /// Returns the file of a package with these trials. key: null for an unsigned one.
  std::string Pack(const std::string& name, const std::vector<Trial>& trials,
                   const records::SecretKey* key = nullptr) {
    Write(Path(name + ".db"), trials);
    records::PackageOptions options;
    options.name = name;
    options.key = key;
    const auto built = records::BuildPackages(BuiltInTemplates(), {Path(name + ".db")}, options);
    EXPECT_TRUE(built.ok()) << built.status().message();
    EXPECT_TRUE(WriteFile(Path(name + ".twpkg"), built->front().bytes).ok());
    return Path(name + ".twpkg");
  }
  tw_code AddPackage(const std::string& path, const tw_package_options* options) {
    return tw_catalog_add_package(catalog_.get(), path.c_str(), options, &error_);
  }
  void Install(const std::string& path, const std::string& root) {
    const auto bytes = ReadFile(path);
    const auto package = records::ReadPackage(*bytes, {{}, true});
    ASSERT_TRUE(package.ok()) << package.status().message();
    ASSERT_TRUE(records::InstallPackage(*package, *bytes, root, false).ok());
  }
  Owned<tw_answer> AskTuple(const char* tuple, std::uint32_t rule) {
    tw_query_options options = TW_QUERY_OPTIONS_INIT;
    options.rule = rule;
    tw_answer* answer = nullptr;
    code_ = tw_query_tuple(catalog_.get(), target_.get(), tuple, &options, &answer, &error_);
    return Owned<tw_answer>(answer);
  }
  static Json JsonOf(const tw_answer* answer) {
    std::size_t needed = 0;
    EXPECT_EQ(tw_answer_json(answer, nullptr, 0, &needed, nullptr), TW_OK);
    std::string text(needed, '\0');
    EXPECT_EQ(tw_answer_json(answer, text.data(), text.size(), &needed, nullptr), TW_OK);
    text.pop_back();
    auto json = ParseJson(text);
    EXPECT_TRUE(json.ok()) << text;
    return *json;
  }
};

TEST_F(SourcesTest, PackagesAreTakenFromThoseTheCallerTrusts) {
  const auto key = records::GenerateKey();
  ASSERT_TRUE(key.ok());
  const std::string path = Pack("signed", {OkTrial(DenseKey(1), 5, 0.002)}, &*key);
  EXPECT_EQ(AddPackage(path, nullptr), TW_UNSUPPORTED);
  EXPECT_THAT(error_.message, HasSubstr("which is not trusted; name a file with the key in "
                                        "tw_package_options.trusted_keys"));
  const std::string keys = Path("keys");
  ASSERT_TRUE(WriteFile(keys, records::PublicKeyLine(key->public_key(), "lab")).ok());
  tw_package_options options = TW_PACKAGE_OPTIONS_INIT;
  options.trusted_keys = keys.c_str();
  ASSERT_EQ(AddPackage(path, &options), TW_OK) << error_.message;
  const std::string plain = Pack("plain", {OkTrial(DenseKey(1), 6, 0.001)});
  EXPECT_EQ(AddPackage(plain, &options), TW_UNSUPPORTED);
  options.allow_unsigned = 1;
  ASSERT_EQ(AddPackage(plain, &options), TW_OK) << error_.message;
  EXPECT_EQ(tw_catalog_source_path(catalog_.get(), 0), path);
  const auto answer = Ask(DenseKey(1));
  ASSERT_NE(answer, nullptr) << error_.message;
  EXPECT_EQ(tw_answer_config_index(answer.get()), 5) << "the first package decides";
  tw_record record = TW_RECORD_INIT;
  ASSERT_EQ(tw_answer_record(answer.get(), &record, &error_), TW_OK);
  EXPECT_THAT(record.source, StartsWith("package signed ("));
  options.trusted_keys = "/nowhere/keys";
  EXPECT_EQ(AddPackage(path, &options), TW_NOT_FOUND);
  EXPECT_EQ(AddPackage("/nowhere/p.twpkg", nullptr), TW_NOT_FOUND);
  EXPECT_EQ(AddPackage(keys, nullptr), TW_CORRUPT);
}

TEST_F(SourcesTest, InstalledPackagesAreAskedInTheirOrder) {
  const std::string root = Path("packages");
  Install(Pack("first", {OkTrial(DenseKey(1), 5, 0.001)}), root);
  Install(Pack("second", {OkTrial(DenseKey(1), 6, 0.002)}),
          root);  // installed later: searched first
  size_t added = 0;
  ASSERT_EQ(tw_catalog_add_installed(catalog_.get(), root.c_str(), &added, &error_), TW_OK)
      << error_.message;
  EXPECT_EQ(added, 2U);
  EXPECT_EQ(tw_catalog_problem(catalog_.get(), 0), nullptr);
  EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(1)).get()), 6);
  EXPECT_EQ(tw_catalog_add_installed(catalog_.get(), "packages", nullptr, &error_),
            TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_catalog_add_installed(catalog_.get(), "/nowhere", &added, &error_), TW_OK);
  EXPECT_EQ(added, 0U);
}

// An upgrade replaces the served package. A removal does not affect processes that have it open.
// Neither stops the other sources from answering.
TEST_F(SourcesTest, AnInstalledPackageServesOnWhileItIsReplacedOrRemoved) {
  const std::string root = Path("packages");
  Trial old = OkTrial(DenseKey(1), 5, 0.001), next = OkTrial(DenseKey(1), 6, 0.002);
  old.finished_unix_seconds = 1.75e9;
  next.finished_unix_seconds = 1.76e9;
  const std::string first = Pack("lab", {old});
  const std::string second = [&] {
    std::filesystem::remove(Path("lab.db"));
    std::filesystem::rename(first, Path("old.twpkg"));
    return Pack("lab", {next, OkTrial(DenseKey(16), 3, 0.005)});
  }();
  Install(Path("old.twpkg"), root);
  Write(path_, {OkTrial(DenseKey(4), 8, 0.003)});
  ASSERT_EQ(tw_catalog_add_store(catalog_.get(), path_.c_str(), &error_), TW_OK) << error_.message;
  ASSERT_EQ(tw_catalog_add_installed(catalog_.get(), root.c_str(), nullptr, &error_), TW_OK);
  const std::string folder = tw_catalog_source_path(catalog_.get(), 1);
  const auto refresh = [&] {
    EXPECT_EQ(tw_catalog_refresh(catalog_.get(), &error_), TW_OK) << error_.message;
  };
  const auto store_answers = [&] {
    EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(4)).get()), 8) << error_.message;
  };
  Install(second, root);  // before any of it was read
  EXPECT_FALSE(FileExists(folder));
  refresh();
  EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(1)).get()), 6) << error_.message;
  EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(16)).get()), 3) << error_.message;
  EXPECT_NE(tw_catalog_source_path(catalog_.get(), 1), folder);
  store_answers();

  // Removed without a successor: the mapped file is still used, also by new connections.
  std::filesystem::remove_all(tw_catalog_source_path(catalog_.get(), 1));
  refresh();
  store_answers();
  EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(1)).get()), 6) << error_.message;
  std::vector<std::thread> threads;
  std::atomic<int> hits{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      tw_error error = TW_ERROR_INIT;
      tw_answer* answer = nullptr;
      const std::string key = DenseKey(t % 2 == 0 ? 1 : 16);
      tw_query_key(catalog_.get(), target_.get(), key.c_str(), nullptr, &answer, &error);
      if (answer != nullptr && tw_answer_kind(answer) == TW_KIND_HIT) ++hits;
      tw_answer_free(answer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hits, 4);

  // After a reinstallation the package is used again.
  Install(second, root);
  refresh();
  EXPECT_TRUE(FileExists(tw_catalog_source_path(catalog_.get(), 1)));
  EXPECT_EQ(tw_answer_config_index(Ask(DenseKey(1)).get()), 6) << error_.message;
}

TEST_F(SourcesTest, AutotvmsRuleServesLogsAndSaysThatNobodyVerifiedThem) {
  const std::string log = Path("tuning.log");
  ASSERT_TRUE(WriteFile(log, records::ConvLine(16, 28, "0.002") + "\n" +
                                 records::ConvLine(8, 21, "0.001") + "\n")
                  .ok());
  ASSERT_EQ(tw_catalog_add_log(catalog_.get(), log.c_str(), &error_), TW_OK) << error_.message;
  EXPECT_EQ(tw_answer_kind(AskTuple(records::kConvTuple, TW_RULE_TILEWRIGHT).get()), TW_KIND_MISS);
  const auto answer = AskTuple(records::kConvTuple, TW_RULE_AUTOTVM);
  ASSERT_NE(answer, nullptr) << error_.message;
  EXPECT_EQ(tw_answer_kind(answer.get()), TW_KIND_HIT);
  EXPECT_EQ(tw_answer_cost_seconds(answer.get()), 0.001);
  EXPECT_TRUE(std::isnan(tw_answer_expected_slowdown(answer.get())));
  EXPECT_THAT(tw_answer_explanation(answer.get()), HasSubstr("not verified here"));
  EXPECT_STREQ(tw_answer_template(answer.get()), "conv2d_NCHWc.x86");
  EXPECT_GT(tw_answer_template_version(answer.get()), 0) << "code can be made of it";
  tw_knob knob = TW_KNOB_INIT;
  ASSERT_EQ(tw_answer_find_knob(answer.get(), "tile_oc", &knob, &error_), TW_OK);
  EXPECT_EQ(knob.kind, TW_KNOB_SPLIT);
  EXPECT_STREQ(knob.text, "[8,8]");
  tw_record record = TW_RECORD_INIT;
  ASSERT_EQ(tw_answer_record(answer.get(), &record, &error_), TW_OK);
  EXPECT_EQ(record.verified, 0);
  EXPECT_EQ(record.source, log);
  EXPECT_STREQ(record.target, "llvm -mcpu=core-avx2");
  EXPECT_EQ(std::string_view(record.id).size(), 32U);
  ASSERT_EQ(record.sample_count, 1U);
  EXPECT_EQ(record.samples[0], 0.001);
  const Json json = JsonOf(answer.get());
  EXPECT_EQ(json["rule"], "autotvm");
  EXPECT_EQ(json["verified"], false);
  EXPECT_EQ(json["record"]["line"], 2);
  ASSERT_GE(tw_answer_difference_count(answer.get()), 1U);
  EXPECT_STREQ(tw_answer_difference(answer.get(), 0),
               "mcpu: measured 'core-avx2', asked 'haswell'");
}

TEST_F(SourcesTest, AutotvmsRuleAnswersForTasksWithoutAnOperatorOfOurs) {
  ASSERT_TRUE(WriteFile(Path("odd.log"),
                        R"({"input": ["llvm", "my_op.x86", [["TENSOR", [7], "float32"]], {}], )"
                        R"("config": {"index": 3, "code_hash": null, "entity": )"
                        R"([["tile", "sp", [-1, 7]]]}, "result": [[0.5], 0, 1.0, 2.0], )"
                        R"("version": 0.2, "tvm_version": "0.7"})"
                        "\n")
                  .ok());
  ASSERT_EQ(tw_catalog_add_log(catalog_.get(), Path("odd.log").c_str(), &error_), TW_OK);
  const char* const tuple = "('my_op.x86', ('TENSOR', (7,), 'float32'))";
  const auto answer = AskTuple(tuple, TW_RULE_AUTOTVM);
  ASSERT_NE(answer, nullptr) << error_.message;
  EXPECT_EQ(tw_answer_kind(answer.get()), TW_KIND_HIT);
  EXPECT_STREQ(tw_answer_workload(answer.get()), tuple);
  EXPECT_EQ(tw_answer_template_version(answer.get()), 0);
  EXPECT_THAT(tw_answer_explanation(answer.get()), HasSubstr("no code can be made of it here"));
  EXPECT_EQ(tw_answer_knob_count(answer.get()), 1U);
  const auto miss = AskTuple("('my_op.x86', ('TENSOR', (8,), 'float32'))", TW_RULE_AUTOTVM);
  EXPECT_EQ(tw_answer_kind(miss.get()), TW_KIND_MISS);
  EXPECT_EQ(JsonOf(miss.get())["nearest"][0], tuple);
  ASSERT_TRUE(WriteFile(Path("bad.log"), "{}\n").ok());
  EXPECT_EQ(tw_catalog_add_log(catalog_.get(), Path("bad.log").c_str(), &error_),
            TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, HasSubstr("no AutoTVM record in it; line 1: "));
}

TEST_F(SourcesTest, ModelIsAskedWhereNothingWasMeasured) {
  using cost_model::TreeModel;
  const std::string path = Path("cpu.model");
  // Prefers the config with the most unrolled iterations: not useful, but deterministic.
  const TreeModel model(0, {{{6, 2, 3}, {-1, 0, 0}, {-1, 0, 1}}},
                        {1.4, "llvm", {"dense/float32/avx2"}, "nothing but this test"});
  ASSERT_TRUE(model.Save(path).ok());
  EXPECT_EQ(Ask(DenseKey(1), TW_ACCEPT_MODEL), nullptr);
  EXPECT_EQ(code_, TW_UNSUPPORTED);
  ASSERT_EQ(tw_catalog_set_model(catalog_.get(), path.c_str(), &error_), TW_OK) << error_.message;
  const auto answer = Ask(DenseKey(1), TW_ACCEPT_MEASURED | TW_ACCEPT_MODEL | TW_ACCEPT_DEFAULT);
  ASSERT_NE(answer, nullptr) << error_.message;
  EXPECT_EQ(tw_answer_kind(answer.get()), TW_KIND_MODEL);
  EXPECT_DOUBLE_EQ(tw_answer_expected_slowdown(answer.get()), 1.4);
  EXPECT_THAT(tw_answer_explanation(answer.get()), HasSubstr("nothing but this test"));
  EXPECT_GT(tw_answer_knob_count(answer.get()), 0U);
  EXPECT_EQ(tw_answer_kind(Ask(ConvKey(), TW_ACCEPT_MODEL | TW_ACCEPT_DEFAULT).get()),
            TW_KIND_DEFAULT)
      << "it never saw a convolution";
  Write(path_, {OkTrial(DenseKey(1), 5, 0.001)});
  Add(path_);
  EXPECT_EQ(tw_answer_kind(Ask(DenseKey(1), TW_ACCEPT_HIT | TW_ACCEPT_MODEL).get()), TW_KIND_HIT);
  EXPECT_EQ(tw_catalog_set_model(catalog_.get(), path.c_str(), &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_catalog_set_model(catalog_.get(), path_.c_str(), &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_catalog_set_model(catalog_.get(), "/nowhere", &error_), TW_NOT_FOUND);
}

}  // namespace
}  // namespace tilewright::capi
