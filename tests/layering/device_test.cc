// No code compares the kind of a device: it queries device traits (src/target/device.h) or uses a
// table with one row per device. The test lists every known spelling of such a comparison.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

const std::string kSources = TILEWRIGHT_SOURCE_DIR;

/// Files whose path contains one of these belong to a device, or parse target texts of other
/// projects.
constexpr const char* kOwnPlaces[] = {
    "src/target/",          // definitions of targets
    "src/templates/cuda/",  // templates for GPUs
    "/vta",                 // the VTA, its templates, and the code that runs its streams
    "/choose_vta_kernel",   // its kernels
    "records/autotvm/",     // targets of AutoTVM's records, most of which have no code generator
};
/// One table for each module that needs more of a device than its traits; it has a row per device.
constexpr const char* kTables[] = {
    "src/templates/device.cc",         "cost_model/device_features.cc",
    "measure/device/device_runner.cc", "src/session/device_support.cc",
    "src/session/device_choice.cc",
};

struct Spelling {
  const char* text;     // a regular expression
  const char* example;  // a text that it must match
};
const Spelling kSpellings[] = {
    {R"re(\bTargetKind\b)re", "target.kind() == TargetKind::kVta"},
    {R"re(\bis_(any_)?(llvm|cpu|cuda|gpu|vta)\(\))re", "if (target.is_cuda())"},
    {R"re([!=]= ?"(llvm|cpu|cuda|gpu|vta|nvptx|ext_dev|null)")re", "kind == \"vta\""},
    {R"re("(llvm|cpu|cuda|gpu|vta|nvptx|ext_dev|null)" ?[!=]=)re", "\"vta\" == kind"},
    {R"re(\bdevice\(\)( |\.name )?[!=]= )re", "target.device() == kCuda"},
    {R"re(\bDeviceTraitsOf\([^;]*\)\.name\b)re", "DeviceTraitsOf(target).name.empty()"},
    {R"re([!=]= ?(kVtaCycles|"cycles"|"dram_bytes"))re", "metric == kVtaCycles"},
    {R"re(\bVtaTargetOf\([^;]*\)\.ok\(\))re", "if (VtaTargetOf(target).ok())"},
    {R"re(\bComputeCapabilityOf\([^;]*\)\.ok\(\))re", "gpu = ComputeCapabilityOf(target).ok()"},
    {R"re(\bdynamic_cast<)re", "dynamic_cast<VtaDevice*>(device)"},
};

bool IsIn(const std::string& path, const auto& places) {
  return std::ranges::any_of(
      places, [&](const char* place) { return path.find(place) != std::string::npos; });
}

/// Returns the paths of all sources, relative to the root.
std::vector<std::string> SourcePaths() {
  std::vector<std::string> paths;
  for (const char* folder :
       {"src", "records", "measure", "search", "cost_model", "python_free_cli"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(kSources + "/" + folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      paths.push_back(std::filesystem::relative(entry.path(), kSources).string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

TEST(DeviceLayeringTest, EachSpellingIsFound) {
  for (const Spelling& spelling : kSpellings) {
    EXPECT_TRUE(std::regex_search(spelling.example, std::regex(spelling.text))) << spelling.text;
  }
}

/// Fast filter for lines that may match, because regular expressions are slow.
bool MayAsk(const std::string& line) {
  return std::ranges::any_of(std::array{"==", "!=", "TargetKind", "is_", ".ok()", "Of(", "_cast<"},
                             [&](const char* hint) { return line.find(hint) != line.npos; });
}

TEST(DeviceLayeringTest, NobodyAsksWhichDeviceItIs) {
  const std::regex emit(R"re(\bemit_ [!=]= "\w+")re");  // words of `lower --emit` are not devices
  std::vector<std::regex> asked;
  for (const Spelling& spelling : kSpellings) {
    EXPECT_TRUE(MayAsk(spelling.example)) << spelling.example;
    asked.emplace_back(spelling.text);
  }
  int files = 0;
  for (const std::string& path : SourcePaths()) {
    if (IsIn(path, kOwnPlaces) || IsIn(path, kTables)) continue;
    ++files;
    const auto text = ReadFile(kSources + "/" + path);
    ASSERT_TRUE(text.ok());
    int number = 0;
    for (const std::string& line : Split(*text, '\n')) {
      ++number;
      if (!MayAsk(line)) continue;
      const std::string code = std::regex_replace(line, emit, "");
      for (const std::regex& spelling : asked) {
        EXPECT_FALSE(std::regex_search(code, spelling))
            << path << ":" << number << ": " << line << "\nasks which device it is; ask its traits";
      }
    }
  }
  EXPECT_GT(files, 300) << "the scan found too little to be believed";
}

TEST(DeviceLayeringTest, TablesOfDevicesAreWhereTheyAreLookedFor) {
  for (const std::string& path : SourcePaths()) {
    const auto text = ReadFile(kSources + "/" + path);
    ASSERT_TRUE(text.ok());
    const bool has_table = text->find("DeviceTableRow<") != std::string::npos;
    EXPECT_EQ(has_table, IsIn(path, kTables)) << path;
  }
}

}  // namespace
}  // namespace tilewright
