// Compares every #include of the sources with the checked-in list of edges, so that the direction
// of dependencies is enforced.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

const std::string kRoot = TILEWRIGHT_SOURCE_DIR;

struct Include {
  std::string from, file;
  std::int64_t line;
  std::string header;
  bool quoted;
};

using Edges = std::map<std::string, std::set<std::string>>;

/// Edges of a list: each line has a module or folder, a colon, and the ones that it may include.
Edges ReadEdges(const std::string& name) {
  Edges edges;
  const auto text = ReadFile(kRoot + "/tests/layering/" + name);
  EXPECT_TRUE(text.ok());
  for (const std::string& line : Split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const auto colon = line.find(':');
    std::set<std::string>& to = edges[line.substr(0, colon)];
    for (const std::string& word : Split(Trim(line.substr(colon + 1)), ' ')) {
      if (!word.empty()) to.insert(word);
    }
  }
  return edges;
}

/// Returns the edges between modules.
Edges AllowedEdges() { return ReadEdges("edges.txt"); }

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Returns the module of a path relative to the root: "src/ir" or "measure"; empty if it is in
/// none.
std::string ModuleOf(const std::string& path, const Edges& edges) {
  const auto parts = Split(path, '/');
  if (edges.contains(parts[0])) return parts[0];
  if (parts.size() > 1 && edges.contains(parts[0] + "/" + parts[1]))
    return parts[0] + "/" + parts[1];
  return "";
}

std::vector<Include> AllIncludes() {
  std::vector<Include> includes;
  for (const auto& [module, unused] : AllowedEdges()) {
    const std::filesystem::path folder = kRoot + "/" + module;
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc" && extension != ".c") continue;
      const auto text = ReadFile(entry.path().string());
      std::int64_t number = 0;
      for (const std::string& line : Split(*text, '\n')) {
        ++number;
        if (!line.starts_with("#include ")) continue;
        const bool quoted = line.find('"') != std::string::npos;
        const auto begin = line.find_first_of("\"<") + 1;
        const auto end = line.find_first_of("\">", begin);
        includes.push_back({module, std::filesystem::relative(entry.path(), kRoot).string(), number,
                            line.substr(begin, end - begin), quoted});
      }
    }
  }
  std::sort(includes.begin(), includes.end(), [](const Include& a, const Include& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  return includes;
}

TEST(LayeringTest, EveryIncludeFollowsAnAllowedEdge) {
  const auto edges = AllowedEdges();
  std::int64_t seen = 0;
  for (const Include& include : AllIncludes()) {
    if (!include.quoted) continue;
    const std::string to = ModuleOf(include.header, edges);
    EXPECT_FALSE(to.empty()) << include.file << ":" << include.line << ": \"" << include.header
                             << "\" is not written from the repository root";
    const auto& allowed = edges.at(include.from);
    EXPECT_TRUE(to == include.from || allowed.contains(to) || allowed.contains("*"))
        << include.file << ":" << include.line << ": " << include.from << " may not include " << to;
    ++seen;
  }
  EXPECT_GT(seen, 50) << "the scan found too little to be believed";
}

/// Fails if a walk along the edges comes back to where it was.
void ExpectNoCycle(const Edges& edges) {
  std::map<std::string, int> state;  // 1 = on the path, 2 = done
  const std::function<void(const std::string&)> visit = [&](const std::string& module) {
    ASSERT_NE(state[module], 1) << "cycle through " << module;
    if (state[module] == 2) return;
    state[module] = 1;
    for (const std::string& to : edges.at(module)) {
      if (to != "*") {
        ASSERT_TRUE(edges.contains(to)) << module << " names unknown module " << to;
        visit(to);
      }
    }
    state[module] = 2;
  };
  for (const auto& [module, unused] : edges) visit(module);
}

TEST(LayeringTest, AllowedEdgesHaveNoCycle) { ExpectNoCycle(AllowedEdges()); }

// Every include between two folders of a listed module is in the list, and every edge of the list
// is an include.
TEST(LayeringTest, FoldersOfAModuleFollowTheirEdges) {
  const Edges modules = AllowedEdges();
  Edges unused = ReadEdges("folder_edges.txt");
  const Edges allowed = unused;
  std::set<std::string> listed, folders;
  for (const auto& [folder, to] : allowed) listed.insert(ModuleOf(folder, modules));
  for (const Include& include : AllIncludes()) {
    if (!listed.contains(include.from)) continue;
    const std::string from = FolderOf(include.file), to = FolderOf(include.header);
    ASSERT_TRUE(allowed.contains(from)) << include.file << ": its folder is not in the list";
    folders.insert(from);
    if (!include.quoted || from == to || ModuleOf(to, modules) != include.from) continue;
    unused[from].erase(to);
    EXPECT_TRUE(allowed.at(from).contains(to))
        << include.file << ":" << include.line << ": " << from << " may not include " << to;
  }
  for (const auto& [folder, to] : unused) {
    EXPECT_TRUE(folders.contains(folder)) << folder << " has no sources";
    for (const std::string& edge : to) ADD_FAILURE() << folder << " does not include " << edge;
  }
}

TEST(LayeringTest, FolderEdgesHaveNoCycle) {
  Edges edges = ReadEdges("folder_edges.txt");
  // An operator has an expression among its attributes, and an expression has types of tensors.
  EXPECT_EQ(edges["src/tensor"].erase("src/tensor/expression"), 1U);
  // Fingerprint and metric of trials on a VTA depend on its target, as its templates do.
  EXPECT_EQ(edges["src/templates"].erase("src/templates/vta"), 1U);
  // The store opens databases, checks and answers with these parts, and they work on its rows.
  for (const char* part : {"records/autotvm", "records/front", "records/validation"}) {
    EXPECT_EQ(edges["records"].erase(part), 1U) << part;
  }
  ExpectNoCycle(edges);
}

// Two folders of a module that include each other are one folder for a reader. No others do.
TEST(LayeringTest, OnlyThesePairsOfFoldersIncludeEachOther) {
  const Edges modules = AllowedEdges();
  std::set<std::pair<std::string, std::string>> edges;
  for (const Include& include : AllIncludes()) {
    const std::string from = FolderOf(include.file), to = FolderOf(include.header);
    if (include.quoted && from != to && ModuleOf(to, modules) == include.from) {
      edges.emplace(from, to);
    }
  }
  EXPECT_GT(edges.size(), 100U);
  std::set<std::string> pairs;
  for (const auto& [from, to] : edges) {
    if (from < to && edges.contains({to, from})) pairs.insert(from + " " + to);
  }
  EXPECT_EQ(pairs, (std::set<std::string>{
                       "python_free_cli python_free_cli/arguments", "records records/autotvm",
                       "records records/front", "records records/validation",
                       "src/templates src/templates/vta", "src/tensor src/tensor/expression"}));
}

// A foreign library can be replaced only if a single module uses it.
TEST(LayeringTest, ForeignLibrariesStayInTheirModule) {
  const std::map<std::string, std::set<std::string>> owners = {
      {"llvm/", {"src/codegen", "measure"}},
      {"lld/", {"src/codegen", "measure"}},
      {"sqlite3.h", {"records"}},
      {"nats/", {"measure"}},
      {"xgboost/", {"cost_model"}},
      {"onnx/", {"src/graph", "src/models"}},
      {"google/protobuf/", {"src/graph", "src/models"}},
      {"png.h", {"src/media"}},
      {"turbojpeg.h", {"src/media"}},
      {"zlib.h", {"src/media", "src/space"}},
      {"CLI/", {"python_free_cli"}},
  };
  for (const Include& include : AllIncludes()) {
    for (const auto& [prefix, modules] : owners) {
      if (!include.header.starts_with(prefix)) continue;
      EXPECT_TRUE(modules.contains(include.from))
          << include.file << ":" << include.line << ": " << prefix << " belongs to another module";
    }
  }
}

// docs/tour.md is correct: each function of a row is in a file of that row.
TEST(TourTest, FunctionsAreInTheFilesThatItNames) {
  const auto words = [](const std::string& cell) {
    std::vector<std::string> found;
    const auto parts = Split(cell, '`');
    for (std::size_t i = 1; i < parts.size(); i += 2) found.push_back(parts[i]);
    return found;
  };
  const auto tour = ReadFile(kRoot + "/docs/tour.md");
  ASSERT_TRUE(tour.ok()) << tour.status().message();
  int rows = 0;
  for (const std::string& line : Split(*tour, '\n')) {
    const auto cells = Split(line, '|');
    if (cells.size() != 5 || words(cells[3]).empty()) continue;
    ++rows;
    std::string folder, text;
    for (const std::string& file : words(cells[3])) {
      const auto slash = file.rfind('/');
      if (slash != std::string::npos) folder = file.substr(0, slash);
      const auto contents =
          ReadFile(kRoot + "/" + (slash == std::string::npos ? folder + "/" + file : file));
      EXPECT_TRUE(contents.ok()) << contents.status().message();
      if (contents.ok()) text += *contents;
    }
    for (const std::string& function : words(cells[2])) {
      const auto colon = function.rfind(':');
      const std::string name = colon == std::string::npos ? function : function.substr(colon + 1);
      EXPECT_NE(text.find(name), std::string::npos) << function << " is not in " << cells[3];
    }
  }
  EXPECT_GT(rows, 25);
}

// Search, compilation and selection depend on arguments alone: only paths, and the properties of
// the terminal, come from the environment.
TEST(LayeringTest, OnlyPathsComeFromTheEnvironment) {
  // doctor reports where the loader searches for libraries.
  const std::set<std::string> readers = {
      "measure/program/command.cc",        "python_free_cli/doctor/probe.cc",
      "src/base/files/scratch.cc",         "src/base/files/locked_temp_dir.cc",
      "src/report/terminal/live_lines.cc", "src/session/user_paths.cc"};
  std::set<std::string> found;
  for (const auto& [module, unused] : AllowedEdges()) {
    const std::filesystem::path folder = kRoot + "/" + module;
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const auto text = ReadFile(entry.path().string());
      if (!text.ok() || text->find("getenv") == std::string::npos) continue;
      found.insert(std::filesystem::relative(entry.path(), kRoot).string());
    }
  }
  EXPECT_EQ(found, readers);
}

// A newcomer finds a file by its folder, so a folder with more files needs subfolders.
TEST(LayeringTest, NoFolderHasMoreThan40Files) {
  constexpr int kMaxFiles = 40;
  std::map<std::string, int> files;
  for (const auto& [module, unused] : AllowedEdges()) {
    const std::filesystem::path folder = kRoot + "/" + module;
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) ++files[entry.path().parent_path().string()];
    }
  }
  EXPECT_GT(files.size(), 30U);
  for (const auto& [folder, count] : files) EXPECT_LE(count, kMaxFiles) << folder;
}

}  // namespace
}  // namespace tilewright
