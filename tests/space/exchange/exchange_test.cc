#include <gtest/gtest.h>

#include <string>

#include "src/base/json.h"
#include "src/space/exchange/cachefile.h"
#include "src/space/exchange/gzip.h"
#include "src/space/exchange/t4.h"

namespace tilewright {
namespace {

// Members in an order of their own, unknown ones, failures, an empty list.
constexpr const char* kT4 = R"({
  "metadata": {"timeunit": "miliseconds", "device": {"name": "A4000"}},
  "results": [
    {"timestamp": "2023-12-22", "configuration": {"x": 16, "share": 0.5, "on": true, "kind": "a"},
     "times": {"compilation": 918.5, "validation": 0, "runtimes": [3.97, 3.87], "idle": []},
     "invalidity": "correct", "correctness": 1,
     "measurements": [{"name": "time", "value": 3.875, "unit": "ms", "spread": [1, 2]},
                      {"name": "energy", "value": 7}],
     "objectives": ["time"], "note": {"by": null}},
    {"configuration": {"x": 32, "share": 0.5, "on": false, "kind": "b"},
     "times": {}, "invalidity": "runtime", "correctness": 0,
     "measurements": [{"name": "time", "value": "RuntimeFailedConfig", "unit": ""}],
     "objectives": []}],
  "schema_version": "1.0.0"})";

constexpr const char* kCache = R"({
"device_name": "A4000", "kernel_name": "conv", "problem_size": [4096, 4096],
"tune_params_keys": ["x", "y"], "tune_params": {"x": [16, 32], "y": [1, 2]}, "objective": "time",
"cache": {
"16,1": {"x": 16, "y": 1, "time": 5.9, "times": [5.3, 5.2], "compile_time": 892.9,
 "verification_time": 0, "benchmark_time": 190.5, "GFLOP/s": 1279.5, "strategy_time": 0,
 "framework_time": 81.5, "timestamp": "2023-12-22"},
"32,1": {"x": 32, "y": 1, "time": "RuntimeFailedConfig", "compile_time": 3436.9,
 "verification_time": 0, "benchmark_time": 0, "strategy_time": 0, "framework_time": 1.7,
 "timestamp": "2023-12-23"}}
})";

/// Members of objects in byte order and all numbers as floats: what equality up to order and number
/// format compares.
nlohmann::json Canonical(std::string_view text) {
  nlohmann::json json = nlohmann::json::parse(text);
  const std::function<void(nlohmann::json&)> to_float = [&](nlohmann::json& value) {
    if (value.is_number()) value = value.get<double>();
    if (value.is_structured()) {
      for (auto& item : value) to_float(item);
    }
  };
  to_float(json);
  return json;
}

TEST(T4FileTest, KeepsEveryMember) {
  const auto file = T4File::Parse(kT4);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(Canonical(file->ToString()), Canonical(kT4));
  const auto again = T4File::Parse(file->ToString());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->ToString(), file->ToString());
  EXPECT_EQ(file->duration_unit_seconds(), 1e-3);
  ASSERT_EQ(file->results.size(), 2U);
  EXPECT_EQ(file->results[0].ObjectiveValue(), 3.875);
  EXPECT_EQ(file->results[1].ObjectiveValue(), std::nullopt);
  EXPECT_EQ(std::get<bool>(file->results[0].configuration[2].second), true);
}

TEST(T4FileTest, NamesWhatItRejects) {
  const auto message = [](std::string_view text) { return T4File::Parse(text).status().message(); };
  EXPECT_EQ(message("[]"), "no T4 file: expected an object with a list \"results\"");
  EXPECT_EQ(message(R"({"results": [{}]})"), "result 1: expected an object \"configuration\"");
  EXPECT_EQ(message(R"({"results": [{"configuration": {"x": [1]}}]})"),
            "result 1: \"configuration\": x: a number, a boolean or a text expected");
  EXPECT_EQ(message(R"({"results": [{"configuration": {}, "times": {"a": "b"}}]})"),
            "result 1: \"times\": a is not a number");
}

TEST(T4FileTest, NamesSpacesAsTheirPathsDo) {
  EXPECT_EQ(T4SpaceName("data/conv.A100.T4.json.gz"), "conv.A100");
  EXPECT_EQ(T4SpaceName("hub/conv/A100_T4.json"), "conv.A100");
  EXPECT_EQ(T4SpaceName("conv.json"), "conv");
}

TEST(CacheFileTest, KeepsEveryMemberAlsoByT4) {
  const auto cache = CacheFile::Parse(kCache);
  ASSERT_TRUE(cache.ok()) << cache.status().message();
  EXPECT_EQ(Canonical(cache->ToString()), Canonical(kCache));
  const auto t4 = ToT4(*cache);
  ASSERT_TRUE(t4.ok()) << t4.status().message();
  EXPECT_EQ(t4->results[0].ObjectiveValue(), 5.9);
  EXPECT_EQ(t4->results[1].invalidity, "runtime");
  EXPECT_EQ(t4->results[0].times.back().values, (std::vector<double>{5.3, 5.2}));
  const auto written = T4File::Parse(t4->ToString());
  ASSERT_TRUE(written.ok()) << written.status().message();
  const auto back = ToCacheFile(*written);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(Canonical(back->ToString()), Canonical(kCache));
}

TEST(CacheFileTest, ReadsAFileThatIsStillBeingWritten) {
  const std::string text = kCache;
  const auto cut = CacheFile::Parse(text.substr(0, text.find("\"32,1\"")));
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_EQ(cut->entries.size(), 1U);
  EXPECT_FALSE(CacheFile::Parse(text.substr(0, text.find("\"times\""))).ok());
}

TEST(CacheFileTest, IsMadeFromAnyT4File) {
  const auto t4 = T4File::Parse(kT4);
  ASSERT_TRUE(t4.ok());
  const auto cache = ToCacheFile(*t4);
  ASSERT_TRUE(cache.ok()) << cache.status().message();
  EXPECT_EQ(cache->entries[0].key, "16,0.5,True,a");
  EXPECT_EQ(cache->parameters[0].second, (std::vector<ParameterValue>{16, 32}));
  EXPECT_TRUE(CacheFile::Parse(cache->ToString()).ok());
}

TEST(T4OrCacheTest, IsTheOneThatItsMembersName) {
  const auto t4 = ParseT4OrCache(kT4);
  ASSERT_TRUE(t4.ok()) << t4.status().message();
  EXPECT_EQ(*t4, *T4File::Parse(kT4));
  EXPECT_EQ(DeviceOfCache(*t4), "");
  const std::string text = kCache;
  for (const std::string& whole_or_cut : {text, text.substr(0, text.find("\"32,1\""))}) {
    const auto cache = ParseT4OrCache(whole_or_cut);
    ASSERT_TRUE(cache.ok()) << cache.status().message();
    EXPECT_EQ(*cache, *ToT4(*CacheFile::Parse(whole_or_cut)));
    EXPECT_EQ(DeviceOfCache(*cache), "A4000");
  }
}

TEST(T4OrCacheTest, NamesWhatItRejectsInTheTermsOfTheFile) {
  const auto message = [](std::string_view text) {
    return ParseT4OrCache(text).status().message();
  };
  EXPECT_EQ(message("{}"), "no T4 file: expected an object with a list \"results\"");
  EXPECT_EQ(
      message(R"({"tune_params_keys": ["x"], "tune_params": {"x": [1]}, "cache": {"1": {}}})"),
      "entry \"1\": no value of x");
  // Braces at its end would make it JSON.
  const std::string cut = R"({"metadata": {"timeunit": "ms")";
  EXPECT_EQ(message(cut), ParseJson(cut).status().message());
}

TEST(GzipTest, GivesTheTextBack) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919 % 1000);
  for (const std::string& one : {std::string(), std::string("a"), text}) {
    const std::string packed = Gzip(one);
    ASSERT_TRUE(IsGzip(packed));
    const auto back = Gunzip(packed);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, one);
    // Two members are one text.
    EXPECT_EQ(*Gunzip(packed + packed), one + one);
    EXPECT_FALSE(Gunzip(packed.substr(0, packed.size() - 5)).ok());
    EXPECT_FALSE(Gunzip(packed + "x").ok());
  }
  EXPECT_LT(Gzip(text).size(), text.size() / 2);
  EXPECT_EQ(Gunzip(Gzip(text), 1000).status().message(), "more than 1000 bytes uncompressed");
  std::string damaged = Gzip(text);
  damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
  EXPECT_FALSE(Gunzip(damaged).ok());
}

}  // namespace
}  // namespace tilewright
