#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/front/front.h"
#include "records/package/catalog.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/session/notes.h"

namespace tilewright::session {

/// Keys that may have signed a package, in addition to the user's trusted keys.
struct TrustOptions {
  std::vector<std::string> keys;  ///< files
  bool allow_unsigned = false;
  /// Returns the trust policy of these options. Errors: kNotFound for a missing key file; those of
  /// ReadPublicKeys.
  Result<records::TrustPolicy> Policy() const;
};

/// Record sources of a query or a compilation, and the lowest accepted answer level.
struct RecordSources {
  std::vector<std::string> stores, packages;  ///< files
  bool user_store = true;                     ///< without stores: the user's own, if it exists
  bool no_packages = false;                   ///< ignore installed packages
  std::string accept = "model";               ///< name of an AnswerLevel
  std::string model_file;  ///< cost model. Empty: the shipped one, if there is one; "none": none
  std::string rule = "own", tophub;
  std::string prefer;
  TrustOptions trust;

  /// Opens the sources in order: `stores` (default: the user's own, if it exists), `packages`, the
  /// installed packages, then the cost model. note: receives a line for each skipped source.
  /// templates: outlives the catalog.
  /// Errors: those of opening; kInvalidArgument for packages with AutoTVM's rule, and for trust
  /// options without packages.
  Result<records::Catalog> Open(const TemplateRegistry& templates, const Target& target,
                                const NoteSink& note) const;
  /// Parses `prefer`; none if it is empty.
  /// Errors: kInvalidArgument with rule "autotvm"; those of Preference::Parse.
  Result<std::optional<records::Preference>> Preferred(const Target& target) const;
  /// Parses `accept`. A given cost model makes it at least kModel.
  Result<records::AnswerLevel> Accept() const;
  /// Returns the parameters of AutoTVM's lookup rule; none with Tilewright's rule.
  /// Errors: kInvalidArgument for `tophub` without AutoTVM's rule, or of no known name.
  Result<std::optional<records::AutotvmLookup>> Autotvm(const Target& target) const;

 private:
  Status AddModel(const TemplateRegistry& templates, const Target& target,
                  records::Catalog& catalog, const NoteSink& note) const;
};

/// Divides the limit of a preference among the tasks of a network (records::ShareLimit). note:
/// receives the number of tasks without a record that has the limited metric; these tasks are
/// ignored.
Status ShareLimitOf(const std::vector<search::TuneTask>& tasks, const TemplateRegistry& templates,
                    const Target& target, const DeviceFingerprint& device,
                    records::Catalog& catalog, records::Preference& prefer, const NoteSink& note);

}  // namespace tilewright::session
