// The report of a search as it is stored. Numbers are exact.

#include "src/optimize/search_report.h"

#include <algorithm>

#include "src/optimize/step.h"

namespace tilewright::optimize {
namespace {

constexpr const char* kModeNames[] = {"global_scale", "percentile", "kl_divergence", "mse"};
constexpr const char* kFormatNames[] = {"float32", "bfloat16", "int8"};
using FormatsCodec = TextCodec<&CodeOf, &ParseCode>;

/// A time and a noise of the predicted front.
struct FrontPoint {
  double ratio = 1, noise = 0;
};
void Describe(auto& fields, DescribedAs<FrontPoint> auto& point) {
  fields("ratio", point.ratio);
  fields("noise", point.noise, AnyNumberCodec());
}

/// Range of one value.
struct NamedRange {
  std::string name;
  double range = 0;
};
void Describe(auto& fields, DescribedAs<NamedRange> auto& one) {
  fields("name", one.name);
  fields("range", one.range, RangeCodec<double>{0, 1e38});
}

/// Codec of pairs or a map as a list of structs of two members.
template <typename Item>
struct PairsCodec {
  template <typename T>
  Json Write(const T& pairs) const {
    Json json = Json::array();
    for (const auto& [first, second] : pairs) json.push_back(WriteJson(Item{first, second}));
    return json;
  }
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, T& pairs) const {
    std::vector<Item> items;
    ListCodec<>().Read(reader, name, json, items);
    pairs.clear();
    for (Item& item : items) {
      auto& [first, second] = item;
      pairs.insert(pairs.end(), {std::move(first), std::move(second)});
    }
  }
};

/// Returns why the parts of a report do not fit each other; empty if they do.
std::string ProblemOf(const SearchReport& report) {
  const std::size_t sites = report.sites.size();
  if (report.chosen >= report.combinations.size()) return "chosen is no combination";
  for (std::size_t i = 0; i < sites; ++i) {
    const SiteReport& site = report.sites[i];
    const std::size_t count = site.site.formats.size();
    if (count == 0 || site.site.formats[0] != Format::kFloat32 || site.seconds.size() != count ||
        site.noise.size() != count || site.site.PositionOf(site.chosen) >= count ||
        site.site.before < -1 || site.site.before >= static_cast<int>(i)) {
      return "site " + std::to_string(i) + " has other numbers of formats, seconds and noise";
    }
  }
  for (const Combination& one : report.combinations) {
    if (one.formats.size() != sites) return "a combination of another number of sites";
    for (std::size_t i = 0; i < sites; ++i) {
      const Site& site = report.sites[i].site;
      if (site.PositionOf(one.formats[i]) >= site.formats.size()) {
        return "a combination has a format that its site cannot have";
      }
    }
  }
  return "";
}

}  // namespace

static void Describe(auto& fields, DescribedAs<Calibration> auto& calibration) {
  fields("mode", calibration.mode, EnumCodec{kModeNames});
  fields("per_channel", calibration.per_channel);
  fields("unsigned", calibration.unsigned_inputs);
}

static void Describe(auto& fields, DescribedAs<CalibrationError> auto& error) {
  fields("calibration", error.calibration);
  fields("noise", error.noise, AnyNumberCodec());
}

static void Describe(auto& fields, DescribedAs<DataSplit> auto& split) {
  fields("calibration", split.calibration);
  fields("search", split.search);
  fields("held_out", split.held_out);
}

static void Describe(auto& fields, DescribedAs<OutputError> auto& error) {
  fields("noise", error.relative_noise, AnyNumberCodec());
  fields("agreement", error.agreement, AnyNumberCodec());
  fields("max_error", error.max_error, AnyNumberCodec());
  fields("cosine", error.cosine, AnyNumberCodec());
  fields("score", error.score, AnyNumberCodec());
}

static void Describe(auto& fields, DescribedAs<SiteReport> auto& site) {
  fields("value", site.site.name);
  fields("operator", site.site.op);
  fields("formats", site.site.formats, FormatsCodec());
  fields("why_not_int8", site.site.why_not_int8);
  fields("before", site.site.before);
  fields("elements", site.site.elements);
  fields("chosen", site.chosen, EnumCodec{kFormatNames});
  fields("seconds", site.seconds);
  fields("noise", site.noise, ListCodec{AnyNumberCodec()});
  fields("why", site.why);
}

static void Describe(auto& fields, DescribedAs<Combination> auto& one) {
  fields("formats", one.formats, FormatsCodec());
  fields("kernels", one.kernels);
  fields("predicted_ratio", one.predicted_ratio, AnyNumberCodec());
  fields("predicted_noise", one.predicted_noise, AnyNumberCodec());
  fields("ratio", one.ratio, RangeCodec<double>{1e-9, 1e9});
  fields("spread", one.spread, AnyNumberCodec());
  fields("search", one.search);
  fields("held_out", one.held_out, NullableCodec<>());
  fields("refused", one.refused);
  fields("front", one.on_front);
}

static void Describe(auto& fields, DescribedAs<SearchReport> auto& report) {
  fields("network", report.network);
  fields("bound", report.bound, TextCodec<&Bound::ToString, &ParseBound>());
  fields("score", report.score);
  fields("samples", report.split);
  fields("calibrations", report.calibrations);
  fields("calibration", report.calibration);
  fields("ranges", report.ranges, PairsCodec<NamedRange>());
  fields("sites", report.sites);
  fields("combinations", report.combinations);
  fields("predicted_front", report.predicted_front, PairsCodec<FrontPoint>());
  fields("chosen", report.chosen);
  fields("float32_seconds", report.float32_seconds, RangeCodec<double>{0, 1e9});
  fields("seconds", report.seconds, RangeCodec<double>{0, 1e9});
  fields("reason", report.reason);
}

Json StoredReport(const SearchReport& report) { return WriteJson(report); }

Result<SearchReport> ParseStoredReport(std::string_view text) {
  constexpr const char* kContext = "result of optimize";
  TW_ASSIGN_OR_RETURN(const auto json, ParseJson(text));
  TW_ASSIGN_OR_RETURN(auto report, ReadJson<SearchReport>(json, kContext));
  if (const std::string problem = ProblemOf(report); !problem.empty()) {
    return Corrupt(std::string(kContext) + ": " + problem);
  }
  return report;
}

}  // namespace tilewright::optimize
