// Builds packages. Copies all served trials of the stores into one staging store, so that "the best
// of each task" means the best over all stores. Then copies each target's trials into a separate
// database in the order of task, value and config, so that its bytes depend only on the records.

#include "records/package/build.h"

#include <algorithm>
#include <cctype>

#include "records/copy.h"
#include "records/image.h"
#include "records/schema.h"
#include "records/select.h"
#include "records/validation/schedules.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/hash.h"
#include "src/target/device.h"
#include "src/target/target.h"

namespace tilewright::records {
namespace {

Result<std::vector<std::string>> Column(const Database& db, const std::string& sql) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  std::vector<std::string> texts;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return texts;
    texts.emplace_back(query.Text(0));
  }
}

/// Copies the trials that `select` returns, and the rows they refer to, from the store at `path`.
Result<RefusedRows> CopyFrom(const TemplateRegistry& templates, const Database& db,
                             const std::string& path, const std::string& select) {
  TW_ASSIGN_OR_RETURN(const auto attached, AttachedSource::Attach(db, path));
  auto source_id = StoreIdOf(db, "source");
  if (!source_id.ok()) return source_id.status().WithContext(path);
  auto refused = FindCurrent(templates, db, "source");
  if (!refused.ok()) return refused.status().WithContext(path);
  TW_ASSIGN_OR_RETURN(auto copier, Copier::Create(db, *source_id, ""));
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db));
  TW_RETURN_IF_ERROR(copier.Choose(select));
  TW_RETURN_IF_ERROR(copier.CopyTexts(false));
  TW_RETURN_IF_ERROR(copier.CopyTrials());
  TW_RETURN_IF_ERROR(copier.CopyTrialDetails());
  TW_RETURN_IF_ERROR(CopyScheduleTexts(db, "source"));
  auto proof = copier.CompareChecksums();
  if (!proof.ok()) return proof.status().WithContext(path);
  TW_RETURN_IF_ERROR(transaction.Commit());
  return refused;
}

/// Counts the records for the manifest.
Status CountContents(const Database& db, PackageManifest& manifest) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(db,
                         "SELECT count(*), count(DISTINCT workload), count(DISTINCT device),"
                         " ifnull(max(finished), 0) FROM trial"));
  TW_RETURN_IF_ERROR(query.Step());
  manifest.trials = query.Int(0);
  manifest.tasks = query.Int(1);
  manifest.devices = query.Int(2);
  manifest.newest_trial = UtcText(query.Real(3));
  return {};
}

Result<BuiltPackage> BuildOne(const TemplateRegistry& templates, const std::string& stage,
                              const std::string& target, const PackageOptions& options) {
  TW_ASSIGN_OR_RETURN(auto db, OpenMemory());
  TW_RETURN_IF_ERROR(MakeTables(db, SchemaVersion()));
  TW_RETURN_IF_ERROR(CopyFrom(templates, db, stage,
                              "SELECT id FROM (" + SelectServed("source", options.best) +
                                  ") WHERE id IN (SELECT t.id FROM source.trial t JOIN"
                                  " source.target g ON g.id = t.target WHERE g.text = " +
                                  Quoted(target) + ")"));
  // A job's settings contain file names of the machine that ran it; its name and seed identify it.
  TW_RETURN_IF_ERROR(db.Execute("UPDATE job SET settings = '{}'; VACUUM"));
  TW_ASSIGN_OR_RETURN(auto image, ImageOf(db));
  BuiltPackage built;
  PackageManifest& manifest = built.manifest;
  manifest.schema = SchemaVersion();
  manifest.name = options.name;
  if (manifest.name.empty()) {
    TW_ASSIGN_OR_RETURN(manifest.name, PackageNameOf(target));
  }
  manifest.targets = {target};
  TW_ASSIGN_OR_RETURN(auto parsed, Target::Parse(target));
  manifest.codegen_version = DeviceTraitsOf(parsed).codegen_version;
  manifest.tool_version = options.tool_version;
  manifest.license = options.license;
  TW_RETURN_IF_ERROR(CountContents(db, manifest));
  manifest.database_bytes = static_cast<std::int64_t>(image.size());
  manifest.database_sha256 = Sha256Hex(image);
  TW_ASSIGN_OR_RETURN(built.bytes, PackageBytes(manifest, image, options.key));
  // The built package is read back with the checks of its readers.
  TrustPolicy own{{}, true};
  if (options.key != nullptr) own.keys.push_back({options.key->public_key(), ""});
  auto read = ReadPackage(built.bytes, own, &templates);
  if (!read.ok()) return read.status().WithContext("package " + manifest.name);
  return built;
}

}  // namespace

Result<std::string> PackageNameOf(const std::string& target) {
  TW_ASSIGN_OR_RETURN(auto parsed, Target::Parse(target));
  std::string name = parsed.kind_name();
  for (const char* option : {"mcpu", "arch", "model"}) {
    if (const std::string value = parsed.Option(option); !value.empty()) name += "-" + value;
  }
  name += "-t" + std::to_string(parsed.num_threads());
  for (char& c : name) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!fine) c = '_';
  }
  // Options that are not in the name (features, say) change the hash.
  return name.substr(0, 100) + "-" + HexOf(Mix64(Fnv1a64(target))).substr(0, 8);
}

Result<std::vector<BuiltPackage>> BuildPackages(const TemplateRegistry& templates,
                                                const std::vector<std::string>& stores,
                                                const PackageOptions& options) {
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-package"));
  const std::string stage = folder.path() + "/stage.db";
  std::vector<std::string> targets;
  std::int64_t left_out = 0;
  std::string first;
  {
    TW_ASSIGN_OR_RETURN(auto db, OpenScratch(stage));
    TW_RETURN_IF_ERROR(MakeTables(db, SchemaVersion()));
    for (const std::string& store : stores) {
      TW_ASSIGN_OR_RETURN(auto checked, Database::Open(store, Database::Mode::kReadOnly));
      TW_RETURN_IF_ERROR(StoreVersion(checked, store));
      TW_ASSIGN_OR_RETURN(auto refused,
                          CopyFrom(templates, db, store, SelectServed("source", options.best)));
      left_out += refused.count;
      if (first.empty()) first = refused.first;
      if (refused.count > 0 && options.refused) {
        options.refused(store, refused.count, refused.first);
      }
    }
    TW_ASSIGN_OR_RETURN(
        targets,
        Column(db, "SELECT text FROM target WHERE id IN (SELECT target FROM trial) ORDER BY text"));
  }
  if (!options.target.empty()) {
    std::erase_if(targets, [&](const std::string& t) { return t != options.target; });
  }
  if (targets.empty()) {
    return NotFound("no trial may be served" +
                    (options.target.empty() ? std::string() : " for '" + options.target + "'") +
                    ": it has to be verified and made by today's templates and code generator" +
                    (left_out == 0
                         ? std::string()
                         : "; " + std::to_string(left_out) + " are invalid, the first: " + first));
  }
  if (!options.name.empty() && targets.size() > 1) {
    return InvalidArgument("a name is for one package, and the stores have " +
                           std::to_string(targets.size()) + " targets; choose one with --target");
  }
  std::vector<BuiltPackage> packages;
  for (const std::string& target : targets) {
    TW_ASSIGN_OR_RETURN(auto built, BuildOne(templates, stage, target, options));
    packages.push_back(std::move(built));
  }
  return packages;
}

}  // namespace tilewright::records
