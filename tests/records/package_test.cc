#include "records/package/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "records/image.h"
#include "records/package/build.h"
#include "records/package/diff.h"
#include "records/schema.h"
#include "src/base/random.h"
#include "tests/records/sample_trials.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

using testing::HasSubstr;

class PackageTest : public SampleStores {
 protected:
  void SetUp() override {
    SampleStores::SetUp();
    key_ = std::make_unique<SecretKey>(*GenerateKey());
    policy_.keys = {{key_->public_key(), "tester"}};
  }
  /// Creates a store with two tasks and with records that must not be packed.
  std::string SmallStore(const std::string& name = "small.db") {
    Trial unverified = SampleTrial(1, 0.0001);
    unverified.verified = false;
    Trial failed = SampleTrial(2, 0);
    failed.outcome = Outcome::kRunFailed;
    failed.verified = false;
    Trial old_code = SampleTrial(5, 0.0001);
    old_code.codegen_version = FindDeviceTraits("llvm").codegen_version - 1;
    Add(Path(name), {unverified, failed, old_code, SampleTrial(3, 0.002), SampleTrial(4, 0.003),
                     SampleTrial(0, 0.004, SampleConv(32))});
    return Path(name);
  }
  BuiltPackage Build(const std::string& store, PackageOptions options = {}) {
    options.key = key_.get();
    options.license = "CC0-1.0";
    options.tool_version = "0.1.0";
    auto built = BuildPackages(BuiltInTemplates(), {store}, options);
    EXPECT_TRUE(built.ok()) << built.status().message();
    return built->front();
  }
  /// Returns a package of any database with a correct hash and signature.
  std::string Forge(PackageManifest manifest, const std::string& database) {
    manifest.database_bytes = static_cast<std::int64_t>(database.size());
    manifest.database_sha256 = Sha256Hex(database);
    auto bytes = PackageBytes(manifest, database, key_.get());
    EXPECT_TRUE(bytes.ok());
    return *bytes;
  }
  /// Returns the package after SQL ran on its database.
  std::string ForgeWith(const BuiltPackage& built, const char* sql) {
    auto package = ReadPackage(built.bytes, policy_);
    EXPECT_TRUE(package.ok());
    EXPECT_TRUE(WriteFile(Path("forged.db"), package->database).ok());
    Sql(Path("forged.db"), sql);
    return Forge(built.manifest, *ReadFile(Path("forged.db")));
  }
  std::string Refusal(std::string_view bytes) {
    auto package = ReadPackage(bytes, policy_, &BuiltInTemplates());
    return package.ok() ? "accepted" : package.status().message();
  }
  std::unique_ptr<SecretKey> key_;
  TrustPolicy policy_;
};

TEST_F(PackageTest, HoldsWhatMayBeServedAndNothingElse) {
  const BuiltPackage built = Build(SmallStore());
  EXPECT_EQ(built.manifest.trials, 3);
  EXPECT_EQ(built.manifest.tasks, 2);
  EXPECT_EQ(built.manifest.devices, 1);
  EXPECT_EQ(built.manifest.targets, std::vector<std::string>{"llvm -mcpu=haswell"});
  EXPECT_EQ(built.manifest.newest_trial, "2025-06-15T15:06:44Z");
  EXPECT_THAT(built.manifest.name, testing::StartsWith("llvm-haswell-t1-"));

  auto package = ReadPackage(built.bytes, policy_);
  ASSERT_TRUE(package.ok()) << package.status().message();
  EXPECT_EQ(package->SignerText().substr(0, 8), "tester (");
  auto store = Store::OpenImage(package->database, "package");
  ASSERT_TRUE(store.ok()) << store.status().message();
  auto answer = store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->kind, AnswerKind::kHit);
  EXPECT_EQ(answer->record->trial.candidate.config.index, 3);
  EXPECT_EQ(package->database.find("somebody"), std::string::npos) << "a path of the builder";
}

TEST_F(PackageTest, SameRecordsGiveTheSameBytes) {
  const std::string store = SmallStore();
  const BuiltPackage first = Build(store), second = Build(store);
  EXPECT_EQ(first.bytes, second.bytes);
  // A store that received the same records in another order, and additional ones that are not
  // packed.
  auto merged = BuildPackages(BuiltInTemplates(), {store, store},
                              {"", "", "CC0-1.0", "0.1.0", 8, key_.get()});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->front().bytes, first.bytes);
  Trial failed = SampleTrial(9, 0);
  failed.outcome = Outcome::kBuildFailed;
  failed.verified = false;
  Add(store, {failed}, {{"task", "tell", "{}"}});
  EXPECT_EQ(Build(store).bytes, first.bytes);
}

TEST_F(PackageTest, KeepsTheBestOfEachTaskWithTiesAndWinners) {
  std::vector<Trial> trials;
  for (int i = 0; i < 20; ++i) trials.push_back(SampleTrial(i, i < 4 ? 0.001 : 0.001 * i));
  Add(Path("r.db"), trials);
  {
    auto store = Store::Open(Path("r.db"), Store::Mode::kReadWrite);
    const std::int64_t job = store->OpenJob("job", "", 0)->id;
    ASSERT_TRUE(store->StoreBest(job, trials[9], {9, 12}).ok());
  }
  PackageOptions options;
  options.best = 2;
  // Four are equally fast; 9 won its race, and 12 is not measurably slower.
  EXPECT_EQ(Build(Path("r.db"), options).manifest.trials, 6);
  options.best = 0;
  EXPECT_EQ(Build(Path("r.db"), options).manifest.trials, 20);
}

// The package contains the noisy trial that is faster than all clean ones, and the record that a
// query returns instead of it.
TEST_F(PackageTest, KeepsWhatAQueryAnswersAfterNoise) {
  std::vector<Trial> trials = {SampleTrialAt(9, 1e-3, 0.1, 1.752e9)};
  for (int i = 0; i < 4; ++i) trials.push_back(SampleTrialAt(i, 2e-3 + 1e-4 * i, 1, 1.751e9));
  Add(Path("r.db"), trials);
  PackageOptions options;
  options.best = 2;
  const auto served = [&](std::int64_t index, std::int64_t count) {
    const BuiltPackage built = Build(Path("r.db"), options);
    EXPECT_EQ(built.manifest.trials, count);
    auto package = ReadPackage(built.bytes, policy_);
    ASSERT_TRUE(package.ok()) << package.status().message();
    auto store = Store::OpenImage(package->database, "package");
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto answer = store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
    ASSERT_TRUE(answer.ok() && answer->record.has_value());
    EXPECT_EQ(answer->record->trial.candidate.config.index, index);
  };
  served(9, 3);
  Add(Path("r.db"), {SampleTrialAt(12, 1.2e-3, 1, 1.753e9)});
  served(12, 3);
}

TEST_F(PackageTest, OnePackageForEachTarget) {
  Add(Path("r.db"), {SampleTrial(3, 0.002),
                     SampleTrial(3, 0.002, SampleConv(), SampleTarget(" -num-threads=2"))});
  auto built = BuildPackages(BuiltInTemplates(), {Path("r.db")}, {});
  ASSERT_TRUE(built.ok()) << built.status().message();
  ASSERT_EQ(built->size(), 2U);
  EXPECT_NE((*built)[0].manifest.name, (*built)[1].manifest.name);
  PackageOptions named;
  named.name = "mine";
  EXPECT_EQ(BuildPackages(BuiltInTemplates(), {Path("r.db")}, named).status().code(),
            StatusCode::kInvalidArgument);
  named.target = "llvm -mcpu=haswell";
  EXPECT_EQ(BuildPackages(BuiltInTemplates(), {Path("r.db")}, named)->front().manifest.name,
            "mine");
  named.target = "llvm -mcpu=skylake";
  EXPECT_EQ(BuildPackages(BuiltInTemplates(), {Path("r.db")}, named).status().code(),
            StatusCode::kNotFound);
}

TEST_F(PackageTest, RefusesEveryFlippedBit) {
  const BuiltPackage built = Build(SmallStore());
  std::string bytes = built.bytes;
  ASSERT_EQ(Refusal(bytes), "accepted");
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const char mask = static_cast<char>(1 << (bit % 8));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
    accepted += ReadPackage(bytes, policy_).ok() ? 1U : 0U;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
  }
  EXPECT_EQ(accepted, 0U) << "of " << 8 * bytes.size();
  EXPECT_EQ(Refusal(bytes), "accepted");
}

TEST_F(PackageTest, RefusesEveryTruncationAndAppendedBytes) {
  const BuiltPackage built = Build(SmallStore());
  for (std::size_t size = 0; size < built.bytes.size(); ++size) {
    ASSERT_NE(Refusal(std::string_view(built.bytes).substr(0, size)), "accepted") << size;
  }
  EXPECT_THAT(Refusal(built.bytes + '\0'), HasSubstr("lengths do not add up"));
}

TEST_F(PackageTest, AsksWhomToTrust) {
  const std::string store = SmallStore();
  const BuiltPackage built = Build(store);
  TrustPolicy no_keys;
  EXPECT_THAT(ReadPackage(built.bytes, no_keys).status().message(), HasSubstr("not trusted"));
  no_keys.allow_unsigned = true;  // does not accept a wrong signature
  EXPECT_THAT(ReadPackage(built.bytes, no_keys).status().message(), HasSubstr("not trusted"));
  TrustPolicy other;
  other.keys = {{GenerateKey()->public_key(), "other"}};
  EXPECT_EQ(ReadPackage(built.bytes, other).status().code(), StatusCode::kUnsupported);

  auto plain = BuildPackages(BuiltInTemplates(), {store}, {});
  ASSERT_TRUE(plain.ok());
  EXPECT_THAT(Refusal(plain->front().bytes), HasSubstr("not signed; --allow-unsigned"));
  EXPECT_TRUE(ReadPackage(plain->front().bytes, no_keys).ok());

  // Another key's signature under a trusted name, and a removed signature.
  std::string swapped = built.bytes;
  const PublicKey theirs = other.keys.front().key;
  std::copy(theirs.bytes.begin(), theirs.bytes.end(), swapped.end() - 96);
  EXPECT_THAT(ReadPackage(swapped, other).status().message(), HasSubstr("not by the key"));
  std::string unsigned_now = built.bytes;
  std::fill(unsigned_now.end() - 96, unsigned_now.end(), '\0');
  EXPECT_THAT(Refusal(unsigned_now), HasSubstr("not signed"));
}

TEST_F(PackageTest, RefusesSwappedManifestsEvenWhenTheirHashIsRight) {
  const BuiltPackage built = Build(SmallStore());
  const std::string database = ReadPackage(built.bytes, policy_)->database;
  PackageManifest more = built.manifest;
  more.trials += 1;
  EXPECT_THAT(Refusal(Forge(more, database)), HasSubstr("does not describe its records"));
  PackageManifest elsewhere = built.manifest;
  elsewhere.targets = {"llvm -mcpu=skylake"};
  EXPECT_THAT(Refusal(Forge(elsewhere, database)), HasSubstr("does not describe its records"));
  PackageManifest newer = built.manifest;
  newer.newest_trial = "2030-01-01T00:00:00Z";
  EXPECT_THAT(Refusal(Forge(newer, database)), HasSubstr("does not describe its records"));
  PackageManifest schema = built.manifest;
  schema.schema += 1;
  EXPECT_THAT(Refusal(Forge(schema, database)), HasSubstr("its manifest says"));
  PackageManifest name = built.manifest;
  name.name = "../../escape";
  EXPECT_THAT(Refusal(Forge(name, database)), HasSubstr("the name is not of"));
  // The manifest of another package after the payload of the first one.
  Add(Path("other.db"), {SampleTrial(3, 0.002, SampleConv(16))});
  EXPECT_THAT(Refusal(Forge(Build(Path("other.db")).manifest, database)),
              HasSubstr("does not describe its records"));
}

TEST_F(PackageTest, HoldsDataOnly) {
  const BuiltPackage built = Build(SmallStore());
  const char* kNotData[] = {
      "CREATE TRIGGER t AFTER INSERT ON trial BEGIN SELECT 1; END",
      "CREATE VIEW served AS SELECT * FROM trial",
      "CREATE TABLE more (x)",
      "CREATE INDEX more ON trial (reason)",
      "DROP INDEX trial_by_job",
      "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = sql || ' ' WHERE name = 'best'",
  };
  for (const char* sql : kNotData) {
    EXPECT_THAT(Refusal(ForgeWith(built, sql)),
                testing::AnyOf(HasSubstr("not part of a record store"),
                               HasSubstr("not that of a record store"), HasSubstr("lacks the")))
        << sql;
  }
  const std::pair<const char*, const char*> kWrongRows[] = {
      {"INSERT INTO log (job, task, kind, payload) VALUES (1, '', '', '')", "'log'"},
      {"INSERT INTO fact VALUES ('a', 'b')", "'fact'"},
      {"UPDATE trial SET verified = 0", "not a verified one"},
      {"UPDATE trial SET outcome = 6", "not a verified one"},
      {"UPDATE trial SET value = -1", "not positive"},
      {"UPDATE trial SET config = '{'", "trial"},
      {"UPDATE workload SET key = 'nonsense' WHERE id = 1", "nonsense"},
      {"UPDATE trial SET job = 99", "refer to nothing"},
      {"UPDATE trial SET codegen_version = 77", "code generator version 77"},
      {"DELETE FROM trial", "no trial names row"},
      {"DELETE FROM trial WHERE config_index = 3", "does not describe"},
      {"INSERT INTO target (text) VALUES ('llvm')", "no trial names row"},
      {"UPDATE trial SET value = value * 1.001", "was changed"},
      {"UPDATE trial SET config = json_set(config, '$.values.' || (SELECT key FROM"
       " json_each(config, '$.values') LIMIT 1), 'x')",
       "the space has no value"},
      {"PRAGMA user_version = 77", "schema version 77"},
      {"PRAGMA application_id = 5", "not a record store"},
  };
  for (const auto& [sql, reason] : kWrongRows) {
    EXPECT_THAT(Refusal(ForgeWith(built, sql)), HasSubstr(reason)) << sql;
  }
  EXPECT_NE(Refusal(Forge(built.manifest, "no database at all")), "accepted");
}

TEST_F(PackageTest, TextsThatReachATerminalHaveNoControlCharacters) {
  const std::string store = SmallStore();
  PackageOptions options;
  options.license = "CC0\x1b]0;x\x07";
  EXPECT_THAT(BuildPackages(BuiltInTemplates(), {store}, options).status().message(),
              HasSubstr("control characters"));
  BuiltPackage built = Build(store);
  const Package package = *ReadPackage(built.bytes, policy_);
  for (const char* text : {"\x1b[2J", "a\rb",
                           "\xc2\x9b"
                           "1m",
                           "\xff"}) {
    PackageManifest manifest = built.manifest;
    manifest.tool_version = text;
    if (*text != '\xff') {  // in a manifest, this is written as U+FFFD
      EXPECT_NE(Refusal(Forge(manifest, package.database)), "accepted") << text;
    }
    const std::string line = PublicKeyLine(key_->public_key(), text);
    EXPECT_EQ(ParsePublicKeys(line, "keys").status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(WriteKeyFiles(*key_, Path("k"), text).code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST_F(PackageTest, RefusesWhatUnpacksTooFar) {
  const BuiltPackage built = Build(SmallStore());
  // 16 MiB of zeros compress to less than a kilobyte.
  EXPECT_THAT(Refusal(Forge(built.manifest, std::string(std::size_t{1} << 24, '\0'))),
              HasSubstr("more than a package may"));
}

// A large payload is checked in a file and rejected before it is read into memory.
TEST_F(PackageTest, RefusesWhatIsLargeAndNoRecords) {
  const BuiltPackage built = Build(SmallStore());
  std::string database = ReadPackage(built.bytes, policy_)->database.substr(0, 100);
  constexpr std::size_t kPages = 5000, kPage = 4096;  // 20 MB
  // Mostly zeros, with enough other bytes that it does not exceed the permitted compression ratio.
  database.resize((kPages - 20) * kPage);
  Random random(1);
  while (database.size() < kPages * kPage) database += static_cast<char>(random.Below(256));
  EXPECT_THAT(Refusal(Forge(built.manifest, database)),
              HasSubstr("its database says that it is of"));
  for (int i = 0; i < 4; ++i) database[28 + i] = static_cast<char>(kPages >> (8 * (3 - i)) & 0xff);
  EXPECT_THAT(Refusal(Forge(built.manifest, database)), testing::Not(HasSubstr("says that")));
  EXPECT_NE(Refusal(Forge(built.manifest, database)), "accepted");
}

// A large valid package is read in the same way as a small one.
TEST_F(PackageTest, TakesWhatIsLargeAndSound) {
  std::vector<Trial> trials;
  for (int i = 0; i < 40; ++i) {
    trials.push_back(SampleTrial(i, 0.001 * (i + 1)));
    Random random(static_cast<std::uint64_t>(i));
    trials.back().samples = {trials.back().value};
    for (int k = 0; k < 60'000; ++k) {
      trials.back().samples.push_back(k < 2500 ? 1 + random.Uniform() : 1.5);
    }
  }
  Add(Path("r.db"), trials);
  PackageOptions options;
  options.best = 0;
  const BuiltPackage built = Build(Path("r.db"), options);
  EXPECT_GT(built.manifest.database_bytes, 16 << 20);
  auto package = ReadPackage(built.bytes, policy_, &BuiltInTemplates());
  ASSERT_TRUE(package.ok()) << package.status().message();
  auto store = Store::OpenImage(package->database, "package");
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(*store->CountTrials({}), 40);
}

TEST_F(PackageTest, OpenedDatabaseCanNotBeWritten) {
  auto package = ReadPackage(Build(SmallStore()).bytes, policy_);
  auto store = Store::OpenImage(package->database, "package");
  EXPECT_FALSE(store->SetFact("a", "b").ok());
  EXPECT_FALSE(store->Append(1, {SampleTrial(7, 0.001)}, {}).ok());
}

TEST_F(PackageTest, DifferenceNamesWhatChanged) {
  Add(Path("a.db"), {SampleTrial(3, 0.002), SampleTrial(3, 0.002, SampleConv(32))});
  Add(Path("b.db"), {SampleTrial(4, 0.001), SampleTrial(3, 0.002, SampleConv(16))});
  auto a = Store::Open(Path("a.db"), Store::Mode::kReadOnly);
  auto b = Store::Open(Path("b.db"), Store::Mode::kReadOnly);
  auto tasks = CompareBest(*a, *b);
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 3U);
  EXPECT_FALSE((*tasks)[0].before.has_value());  // 16 channels
  EXPECT_FALSE((*tasks)[1].after.has_value());   // 32
  EXPECT_EQ((*tasks)[2].after->trial.value, 0.001);
  EXPECT_FALSE((*tasks)[2].same());
}

TEST_F(PackageTest, KeyFilesComeBackAndAreGuarded) {
  ASSERT_TRUE(WriteKeyFiles(*key_, Path("me"), "me, at home").ok());
  auto read = ReadSecretKey(Path("me"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->public_key(), key_->public_key());
  auto trusted = ReadPublicKeys(Path("me.pub"));
  ASSERT_TRUE(trusted.ok());
  EXPECT_EQ(trusted->front().key, key_->public_key());
  EXPECT_EQ(trusted->front().comment, "me, at home");
  EXPECT_EQ(WriteKeyFiles(*key_, Path("me"), "").code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(ReadPublicKeys(Path("me")).status().message(), HasSubstr("a secret key"));
  ASSERT_EQ(::chmod(Path("me").c_str(), 0644), 0);
  EXPECT_THAT(ReadSecretKey(Path("me")).status().message(), HasSubstr("others may read"));
  ASSERT_EQ(::chmod(Path("me").c_str(), 0600), 0);
  std::string text = *ReadFile(Path("me"));
  char& digit = text[40];
  digit = digit == '0' ? '1' : '0';
  ASSERT_TRUE(WriteFile(Path("me"), text).ok());
  ASSERT_EQ(::chmod(Path("me").c_str(), 0600), 0);
  EXPECT_THAT(ReadSecretKey(Path("me")).status().message(), HasSubstr("damaged secret key"));
  EXPECT_TRUE(ReadTrustedKeys(Path("none"))->empty());
  ASSERT_TRUE(WriteFile(Path("bad"), "# mine\ntilewright-ed25519 12 x\n").ok());
  EXPECT_THAT(ReadPublicKeys(Path("bad")).status().message(), HasSubstr("bad:2: "));
  // A list of keys that other users can write is not trustworthy.
  const std::string list = Path("config/trusted_keys");
  ASSERT_TRUE(WriteTrustedKeys(list, PublicKeyLine(trusted->front().key, "me")).ok());
  EXPECT_EQ(ReadTrustedKeys(list)->size(), 1U);
  std::filesystem::create_symlink(list, Path("link"));
  EXPECT_EQ(ReadTrustedKeys(Path("link"))->size(), 1U);
  for (const auto& [place, mode] : {std::pair(list, 0646), {list, 0664}, {Path("config"), 0777}}) {
    ASSERT_EQ(::chmod(place.c_str(), static_cast<mode_t>(mode)), 0);
    for (const std::string& name : {list, Path("link")}) {
      EXPECT_EQ(ReadTrustedKeys(name).status().code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(ReadTrustedKeys(name).status().message(),
                  HasSubstr(place + ": others may write it (chmod go-w"));
    }
    ASSERT_EQ(::chmod(place.c_str(), 0755), 0);
  }
}

}  // namespace
}  // namespace tilewright::records
