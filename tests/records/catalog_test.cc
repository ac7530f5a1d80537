#include "records/package/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "records/package/build.h"
#include "tests/records/sample_trials.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

using testing::HasSubstr;

class CatalogTest : public SampleStores {
 protected:
  void SetUp() override {
    SampleStores::SetUp();
    root_ = Path("packages");
    policy_.allow_unsigned = true;
  }
  /// Returns the bytes of a package with these trials.
  std::string Pack(const std::vector<Trial>& trials, const std::string& name) {
    const std::string path = Path("pack_" + name + ".db");
    Add(path, trials);
    PackageOptions options;
    options.name = name;
    auto built = BuildPackages(BuiltInTemplates(), {path}, options);
    EXPECT_TRUE(built.ok()) << built.status().message();
    return built->front().bytes;
  }
  InstallResult Install(const std::string& bytes, bool downgrade = false) {
    auto package = ReadPackage(bytes, policy_);
    EXPECT_TRUE(package.ok()) << package.status().message();
    auto result = InstallPackage(*package, bytes, root_, downgrade);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return *result;
  }
  std::string root_;
  TrustPolicy policy_;
};

Result<CatalogAnswer> AskCatalog(Catalog& catalog, const Workload& workload,
                                 AnswerLevel accept = AnswerLevel::kNearMatch) {
  const Target target = SampleTarget();
  const DeviceFingerprint device = SampleDevice();
  LookupRequest request;
  request.templates = &BuiltInTemplates();
  request.workload = &workload;
  request.target = &target;
  request.device = &device;
  request.accept = DownTo(accept);
  return catalog.Query(request);
}

class SampleChooser final : public ModelChooser {
 public:
  Result<std::optional<ModelChoice>> Choose(const Workload& workload,
                                            const Target& target) const override {
    ModelChoice choice;
    choice.candidate.task = {workload, target};
    choice.candidate.template_key = "from the model";
    choice.expected_slowdown = 1.4;
    choice.explanation = "model of tests";
    return std::optional(choice);
  }
};

TEST_F(CatalogTest, StoresComeBeforePackagesAndHitsBeforeNearHits) {
  Trial near = SampleTrial(7, 0.0001);
  near.device = SampleDevice("Other CPU");
  Add(Path("user.db"), {near});
  Install(Pack({SampleTrial(3, 0.002)}, "first"));
  Install(Pack({SampleTrial(4, 0.001)}, "second"));  // installed later: searched first
  const auto ask = [&](AnswerLevel accept, bool store) {
    Catalog catalog;
    if (store) catalog.AddStore(*Store::Open(Path("user.db"), Store::Mode::kReadOnly));
    EXPECT_TRUE(catalog.AddInstalledFrom({root_, Path("nowhere")}).ok());
    auto answer = AskCatalog(catalog, SampleConv(), accept);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    answer->store = nullptr;
    return *answer;
  };
  const CatalogAnswer hit = ask(AnswerLevel::kDefault, true);
  EXPECT_EQ(hit.level, AnswerLevel::kHit);
  EXPECT_EQ(hit.candidate()->config.index, 4);
  EXPECT_THAT(hit.source, testing::StartsWith("package second ("));
  Add(Path("user.db"), {SampleTrial(5, 0.1)});
  const CatalogAnswer own = ask(AnswerLevel::kDefault, true);
  EXPECT_EQ(own.source, Path("user.db")) << "the user's own comes first, though it is slower";
}

TEST_F(CatalogTest, GoesDownAsFarAsTheCallerSays) {
  Trial near = SampleTrial(7, 0.0001);
  near.device = SampleDevice("Other CPU");
  Add(Path("user.db"), {near});
  Catalog catalog;
  catalog.AddStore(*Store::Open(Path("user.db"), Store::Mode::kReadOnly));
  const auto ask = [&](const Workload& workload, AnswerLevel accept) {
    auto answer = AskCatalog(catalog, workload, accept);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return *answer;
  };
  EXPECT_EQ(ask(SampleConv(), AnswerLevel::kNearMatch).level, AnswerLevel::kNearMatch);
  const CatalogAnswer refused = ask(SampleConv(), AnswerLevel::kHit);
  EXPECT_EQ(refused.level, AnswerLevel::kMiss);
  EXPECT_FALSE(refused.candidate() != nullptr);
  EXPECT_THAT(refused.answer.explanation, HasSubstr("not accepted: near hit"));
  auto dense = Workload::Parse("dense(float32[1,512]MK,float32[1000,512]NK)->float32");
  EXPECT_EQ(ask(*dense, AnswerLevel::kModel).level, AnswerLevel::kMiss);
  const CatalogAnswer plain = ask(*dense, AnswerLevel::kDefault);
  EXPECT_EQ(plain.level, AnswerLevel::kDefault);
  EXPECT_EQ(plain.source, "default");
  EXPECT_THAT(plain.answer.explanation, HasSubstr("default config of "));
  catalog.SetModel(std::make_unique<SampleChooser>());
  const CatalogAnswer model = ask(*dense, AnswerLevel::kDefault);
  EXPECT_EQ(model.level, AnswerLevel::kModel);
  EXPECT_EQ(model.candidate()->template_key, "from the model");
  EXPECT_EQ(model.answer.expected_slowdown, 1.4);
  EXPECT_EQ(ask(*dense, AnswerLevel::kNearMatch).level, AnswerLevel::kMiss);
}

TEST_F(CatalogTest, PackageFileIsAskedWithoutInstallingIt) {
  ASSERT_TRUE(WriteFile(Path("p.twpkg"), Pack({SampleTrial(3, 0.002)}, "p")).ok());
  Catalog catalog;
  EXPECT_EQ(catalog.AddPackageFile(Path("p.twpkg"), {}).code(), StatusCode::kUnsupported);
  ASSERT_TRUE(catalog.AddPackageFile(Path("p.twpkg"), policy_).ok());
  EXPECT_EQ(AskCatalog(catalog, SampleConv())->level, AnswerLevel::kHit);
}

TEST_F(CatalogTest, InstallingIsIdempotentReplacesOlderOnesAndRefusesToGoBack) {
  const std::string old = Pack({SampleTrial(3, 0.002)}, "p");
  const std::string later = Pack({SampleTrial(4, 0.002)}, "p");  // its trial is a second newer
  EXPECT_FALSE(Install(old).was_there);
  EXPECT_TRUE(Install(old).was_there);
  EXPECT_EQ(Install(later).replaced.size(), 1U);
  ASSERT_EQ(ListInstalled(root_)->packages.size(), 1U);
  auto back = InstallPackage(*ReadPackage(old, policy_), old, root_, false);
  EXPECT_THAT(back.status().message(), HasSubstr("--downgrade"));
  EXPECT_EQ(Install(old, true).replaced.size(), 1U);
  auto list = ListInstalled(root_);
  ASSERT_EQ(list->packages.size(), 1U);
  EXPECT_TRUE(FindInstalled(list->packages, "p").ok());
  EXPECT_TRUE(FindInstalled(list->packages, list->packages[0].digest.substr(0, 8)).ok());
  EXPECT_EQ(FindInstalled(list->packages, "q").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(RemoveInstalled(list->packages[0]).ok());
  EXPECT_TRUE(ListInstalled(root_)->packages.empty());
}

TEST_F(CatalogTest, APackageThatIsThereUnsignedTakesItsSignedFormAndKeepsIt) {
  const std::string plain = Pack({SampleTrial(3, 0.002)}, "p");
  const auto key = GenerateKey();
  ASSERT_TRUE(key.ok());
  policy_.keys = {{key->public_key(), "lab"}};
  PackageOptions options;
  options.name = "p";
  options.key = &*key;
  const std::string with_key =
      BuildPackages(BuiltInTemplates(), {Path("pack_p.db")}, options)->front().bytes;
  EXPECT_EQ(Install(plain).package.SignerText(), "unsigned");
  const InstallResult again = Install(with_key);
  EXPECT_TRUE(again.was_there);
  EXPECT_TRUE(again.now_signed);
  auto list = ListInstalled(root_);
  ASSERT_EQ(list->packages.size(), 1U);
  EXPECT_EQ(list->packages[0].signer_key, key->public_key().Hex());
  EXPECT_TRUE(CheckInstalled(list->packages[0], {policy_.keys, false}).ok());
  EXPECT_THAT(Install(plain).package.SignerText(), HasSubstr("lab"));
  EXPECT_EQ(ListInstalled(root_)->packages[0].signer_key, key->public_key().Hex());
  int entries = 0;  // nothing of the replaced package remains
  for (const auto& entry : std::filesystem::directory_iterator(root_)) {
    entries += entry.is_directory() ? 1 : 0;
  }
  EXPECT_EQ(entries, 1);
}

TEST_F(CatalogTest, WhatOthersMayWriteOrWasChangedIsLeftOut) {
  const InstalledPackage package = Install(Pack({SampleTrial(3, 0.002)}, "p")).package;
  ASSERT_TRUE(CheckInstalled(package, policy_).ok());
  ASSERT_EQ(::chmod(package.DatabasePath().c_str(), 0666), 0);
  auto list = ListInstalled(root_);
  EXPECT_TRUE(list->packages.empty());
  EXPECT_THAT(list->problems, testing::ElementsAre(HasSubstr("others may write it")));
  std::string bytes = *ReadFile(package.DatabasePath());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_TRUE(WriteFile(package.DatabasePath(), bytes).ok());
  ASSERT_EQ(::chmod(package.DatabasePath().c_str(), 0444), 0);
  EXPECT_THAT(CheckInstalled(package, policy_).message(), HasSubstr("was changed"));
  ASSERT_TRUE(WriteFile(package.DatabasePath(), "short").ok());
  ASSERT_EQ(::chmod(package.DatabasePath().c_str(), 0444), 0);
  EXPECT_THAT(ListInstalled(root_)->problems, testing::ElementsAre(HasSubstr("is not of")));
  // Reinstalling it repairs it.
  Install(Pack({SampleTrial(3, 0.002)}, "p"));
  EXPECT_EQ(ListInstalled(root_)->packages.size(), 1U);
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  EXPECT_TRUE(ListInstalled(root_)->packages.empty());
  EXPECT_EQ(ListInstalled("packages").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CatalogTest, DamagedPackageIsToldAndTheOthersStillAnswer) {
  const InstalledPackage bad = Install(Pack({SampleTrial(3, 0.002)}, "bad")).package;
  Add(Path("user.db"), {SampleTrial(5, 0.1, SampleConv(32))});
  const std::string zeros(static_cast<std::size_t>(bad.database_bytes), '\0');
  ASSERT_TRUE(WriteFile(bad.DatabasePath(), zeros).ok());
  ASSERT_EQ(::chmod(bad.DatabasePath().c_str(), 0444), 0);
  Catalog catalog;
  ASSERT_TRUE(catalog.AddInstalledFrom({root_}).ok());
  catalog.AddStore(*Store::Open(Path("user.db"), Store::Mode::kReadOnly));
  EXPECT_EQ(AskCatalog(catalog, SampleConv(32))->level, AnswerLevel::kHit);
  EXPECT_EQ(catalog.problems().size(), 1U);
}

}  // namespace
}  // namespace tilewright::records
