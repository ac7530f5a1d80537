// Programs create registries where they start and pass them on. No other code uses the whole
// tables, and no function gives global access to a registry.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

/// The tables themselves, and the places that create registries from them: those of the command
/// line, of the C interface and of the tuner's library.
constexpr std::array<std::string_view, 8> kMakers = {"src/templates/built_in/built_in.cc",
                                                     "src/templates/registry.cc",
                                                     "src/templates/registry.h",
                                                     "search/strategies/registry.cc",
                                                     "search/registry.h",
                                                     "src/plugins/registries.h",
                                                     "src/capi/catalog.h",
                                                     "src/tuner/data.h"};

const std::regex& Makes() {
  static const std::regex made(
      R"re(\bBuiltIn\(\)|\bstatic (const )?(search::)?(Template|Strategy)Registry [\w]+( =|;|\{))re");
  return made;
}

/// Fast filter for lines that may match, because regular expressions are slow.
bool MayMake(std::string_view line) {
  return line.find("BuiltIn()") != line.npos || line.find("Registry ") != line.npos;
}

TEST(RegistryLayeringTest, TheTablesAreMadeAtTheStartAlone) {
  const std::filesystem::path root = TILEWRIGHT_SOURCE_DIR;
  std::size_t seen = 0;
  for (const char* folder :
       {"src", "records", "measure", "search", "cost_model", "python_free_cli"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cc") continue;
      const std::string path = std::filesystem::relative(entry.path(), root).string();
      if (std::ranges::count(kMakers, path) > 0) continue;
      const auto text = ReadFile(entry.path().string());
      ASSERT_TRUE(text.ok()) << text.status().message();
      ++seen;
      for (const std::string& line : Split(*text, '\n')) {
        if (!MayMake(line)) continue;
        EXPECT_FALSE(std::regex_search(line, Makes())) << path << ": " << line;
      }
    }
  }
  EXPECT_GT(seen, 500U);
}

TEST(RegistryLayeringTest, FindsWhatItIsAfter) {
  for (const char* line :
       {"auto all = TemplateRegistry::BuiltIn();", "static const TemplateRegistry templates;",
        "static search::StrategyRegistry strategies = Make();"}) {
    EXPECT_TRUE(std::regex_search(line, Makes())) << line;
    EXPECT_TRUE(MayMake(line)) << line;
  }
  EXPECT_FALSE(std::regex_search("const TemplateRegistry& templates_;", Makes()));
}

}  // namespace
}  // namespace tilewright
