// Searches all sources for two definitions of one class or enumeration name. The linker keeps the
// inline members of one of them for both, so a program with both misbehaves without an error, and
// no compiler sees it where the two are in different libraries.
// Searches each module for two functions of one name in unnamed namespaces, too. Files that are
// compiled at once see the functions of each other, so a call may mean another file's overload.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// Returns `text` without comments, preprocessor lines and contents of strings.
std::string CodeOf(std::string_view text) {
  std::string code;
  std::size_t i = 0;
  const auto skip_past = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    i = found == std::string_view::npos ? text.size() : found + end.size();
  };
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    const char c = rest[0];
    const bool in_word = !code.empty() && (std::isalnum(code.back()) != 0 || code.back() == '_');
    if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("/*")) {
      skip_past("*/", i + 2);
      code += ' ';
    } else if (rest.starts_with("R\"") && !in_word) {
      const std::size_t open = text.find('(', i);
      skip_past(")" + std::string(text.substr(i + 2, open - i - 2)) + "\"", open);
      code += ' ';
    } else if (c == '"' || (c == '\'' && !in_word)) {  // in a word: 1'000
      for (++i; i < text.size() && text[i] != c; ++i) i += text[i] == '\\';
      ++i;
      code += ' ';
    } else if (c == '#' && Trim(std::string_view(code).substr(code.rfind('\n') + 1)).empty()) {
      while (i < text.size() && (text[i] != '\n' || text[i - 1] == '\\')) ++i;
    } else {
      code += c;
      ++i;
    }
  }
  return code;
}

/// Reads the definitions of one file, a token at a time.
class DefinitionReader {
 public:
  explicit DefinitionReader(const std::string& text) : code_(CodeOf(text)) {
    const auto in_word = [](char c) { return std::isalnum(c) != 0 || c == '_'; };
    const std::string_view code = code_;
    for (std::size_t i = 0; i < code.size();) {
      std::size_t length = code.substr(i).starts_with("::") ? 2 : 1;
      if (in_word(code[i])) {
        while (i + length < code.size() && in_word(code[i + length])) ++length;
      }
      if (std::isspace(code[i]) == 0) tokens_.push_back(code.substr(i, length));
      i += length;
    }
  }

  /// Reads the file.
  void Read() {
    while (at_ < tokens_.size()) {
      const std::string_view word = tokens_[at_++];
      if (word == "namespace") {
        OpenNamespace();
      } else if (word == "extern" && Token(at_) == "{") {
        scopes_.emplace_back();
        ++at_;
      } else if (word == "class" || word == "struct" || word == "union" || word == "enum") {
        ReadClass();
      } else if (word == "{") {
        NoteFunction();
        SkipBody();
        statement_ = at_;
      } else if (word == "}" && !scopes_.empty()) {
        scopes_.pop_back();
        statement_ = at_;
      } else if (word == ";") {
        statement_ = at_;
      }
    }
    EXPECT_THAT(scopes_, IsEmpty()) << "the scan lost its way";
  }

  /// Returns the qualified names of the classes and enumerations that the file defines at namespace
  /// scope. Names in unnamed namespaces are left out: they are this file's own.
  const std::set<std::string>& classes() const { return classes_; }
  /// Returns the qualified names of the functions that the file defines in unnamed namespaces.
  /// Names of capitals are macros. PrintTo and Describe are looked up by the type of an argument.
  const std::set<std::string>& own_functions() const { return own_functions_; }

 private:
  std::string_view Token(std::size_t i) const { return i < tokens_.size() ? tokens_[i] : ";"; }

  /// Enters `namespace a::b {`; the word before has been read. Aliases and directives are left.
  void OpenNamespace() {
    std::string name;
    std::size_t i = at_;
    while (Token(i) != "{" && Token(i) != ";" && Token(i) != "=") name += Token(i++);
    at_ = i;
    if (Token(i) != "{") return;
    scopes_.push_back(name.empty() ? std::string(kUnnamed) : name + "::");
    statement_ = ++at_;
  }

  std::string Scope() const {
    std::string scope;
    for (const std::string& part : scopes_) scope += part;
    return scope;
  }

  /// Notes the function in whose definition a brace has been read: the name before the first
  /// parenthesis that is no part of a template's arguments.
  void NoteFunction() {
    int depth = 0;
    for (std::size_t i = statement_; i + 1 < at_; ++i) {
      depth += tokens_[i] == "<";
      depth -= tokens_[i] == ">";
      if (tokens_[i + 1] != "(" || depth > 0) continue;
      const std::string name(tokens_[i]);
      const bool word = std::isalpha(name[0]) != 0 && i > statement_ && tokens_[i - 1] != "::";
      const bool macro = std::ranges::none_of(name, [](char c) { return std::islower(c) != 0; });
      const std::string scope = Scope();
      if (word && !macro && name != "PrintTo" && name != "Describe" &&
          scope.find(kUnnamed) != std::string::npos)
        own_functions_.insert(scope + name);
      return;
    }
  }

  /// Skips what is left of a body whose brace has been read.
  void SkipBody() {
    for (int depth = 1; at_ < tokens_.size() && depth > 0; ++at_) {
      depth += tokens_[at_] == "{";
      depth -= tokens_[at_] == "}";
    }
  }

  /// Reads `Name<arguments> final : bases {` after `class` and notes the name. Declarations,
  /// parameters of templates and variables of a type that follows its keyword define no class.
  void ReadClass() {
    static const std::set<std::string_view> ends = {"{", ";", "(", ")", ">", ",", "=", ":"};
    std::size_t i = at_;
    if (Token(i) == "class" || Token(i) == "struct") ++i;  // enum class
    std::string name;
    bool two_names = false;
    while (!ends.contains(Token(i))) {
      if (Token(i) == "<" || Token(i) == "[") {
        const bool attribute = Token(i) == "[";
        const std::string_view open = attribute ? "[" : "<", close = attribute ? "]" : ">";
        int depth = 0;
        do {
          depth += Token(i) == open;
          depth -= Token(i) == close;
          if (!attribute) name += Token(i);
        } while (depth > 0 && ++i < tokens_.size());
      } else if (Token(i) != "final") {
        two_names |= !name.empty() && name.back() != ':' && Token(i) != "::";
        name += Token(i);
      }
      ++i;
    }
    if (Token(i) == ":") {
      while (Token(i) != "{" && Token(i) != ";") ++i;
    }
    if (Token(i) != "{" || name.empty() || two_names) return;
    at_ = i + 1;
    SkipBody();
    const std::string scope = Scope();
    if (scope.find(kUnnamed) == std::string::npos) classes_.insert(scope + name);
  }

  static constexpr std::string_view kUnnamed = "(unnamed)";
  std::string code_;
  std::vector<std::string_view> tokens_;
  std::size_t at_ = 0;
  std::size_t statement_ = 0;        // its first token
  std::vector<std::string> scopes_;  // each with its "::"
  std::set<std::string> classes_, own_functions_;
};

struct Definitions {
  std::set<std::string> classes, own_functions;
};

Definitions DefinitionsOf(const std::string& text) {
  DefinitionReader reader(text);
  reader.Read();
  return {reader.classes(), reader.own_functions()};
}

using Files = std::map<std::string, Definitions>;  // by path

/// Returns "name: file file" for each name that more than one of the files has.
std::vector<std::string> NamedTwice(const Files& files, std::set<std::string> Definitions::*names) {
  std::map<std::string, std::string> where;
  std::set<std::string> twice;
  for (const auto& [path, definitions] : files) {
    for (const std::string& name : definitions.*names) {
      std::string& paths = where[name];
      if (!paths.empty()) twice.insert(name);
      paths += " " + path;
    }
  }
  std::vector<std::string> lines;
  for (const std::string& name : twice) lines.push_back(name + ":" + where[name]);
  return lines;
}

/// Returns the definitions of all headers and sources, which are read once.
const Files& AllFiles() {
  static const Files all = [] {
    Files files;
    const std::filesystem::path root = TILEWRIGHT_SOURCE_DIR;
    for (const char* folder : {"include", "src", "records", "measure", "search", "cost_model",
                               "python_free_cli", "bench", "tests"}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
        const std::string path = std::filesystem::relative(entry.path(), root).string();
        if (!path.ends_with(".h") && !path.ends_with(".cc")) continue;
        const auto text = ReadFile(entry.path().string());
        EXPECT_TRUE(text.ok()) << text.status().message();
        if (text.ok()) files[path] = DefinitionsOf(*text);
      }
    }
    return files;
  }();
  return all;
}

TEST(DefinitionTest, EachClassHasOneDefinition) {
  // Headers that a test compares or compiles alone: those of a release, and generated ones.
  constexpr std::array<std::string_view, 2> kAlone = {"tests/capi/release_1_0/", "tests/fixtures/"};
  Files files = AllFiles();
  std::erase_if(files, [&](const auto& file) {
    return std::ranges::any_of(kAlone, [&](auto alone) { return file.first.starts_with(alone); });
  });
  EXPECT_GT(files.size(), 1000U);
  EXPECT_THAT(NamedTwice(files, &Definitions::classes), IsEmpty());
  EXPECT_THAT(files["search/tune/proposer.h"].classes, Contains("tilewright::search::Proposal"));
}

TEST(DefinitionTest, EachUnnamedFunctionOfAModuleHasANameOfItsOwn) {
  std::map<std::string, Files> modules;
  std::size_t functions = 0;
  for (const auto& [path, definitions] : AllFiles()) {
    const bool below = path.starts_with("src/") || path.starts_with("tests/");
    const std::string module = path.substr(0, path.find('/', below ? path.find('/') + 1 : 0));
    // Programs of one file, and main files, are compiled by themselves.
    if (module == "bench" || module == "tests/fuzz" || path.ends_with("main.cc")) continue;
    modules[module][path] = definitions;
    functions += definitions.own_functions.size();
  }
  EXPECT_GT(functions, 2000U);
  for (const auto& [module, files] : modules)
    EXPECT_THAT(NamedTwice(files, &Definitions::own_functions), IsEmpty()) << module;
}

TEST(DefinitionTest, FindsTwoClassesOfOneName) {
  EXPECT_THAT(
      NamedTwice({{"search/a.h", DefinitionsOf("namespace tilewright::search {\n"
                                               "struct Proposal { int index; };\n"
                                               "class Other;\n"
                                               "}\n")},
                  {"search/open/b.cc",
                   DefinitionsOf("namespace tilewright {\nnamespace search {\n"
                                 "class [[nodiscard]] Proposal final : public Base<int> {\n"
                                 " public:\n  explicit Proposal(int index) : index_{index} {}\n};\n"
                                 "struct Other {};\n"
                                 "}}\n")}},
                 &Definitions::classes),
      ElementsAre("tilewright::search::Proposal: search/a.h search/open/b.cc"));
}

TEST(DefinitionTest, ReadsDefinitionsAtNamespaceScopeOnly) {
  EXPECT_THAT(DefinitionsOf(R"cc(
#define MACRO      \
                  struct InMacro { \
                    int a;         \
                  };
                // struct InComment {};
                /* enum InBlock {}; */
                const char* text = "struct InString {";
                const char* raw = R"(struct InRawString {)";
                constexpr int kSize = 1'000, kBrace = '{', kQuote = '\'';
                namespace alias = tilewright::search;
                using namespace std;
                enum class Global : int { kOne };
                extern "C" {
                typedef struct CType {
                  int a;
                } CType;
                }
                namespace a::b {
                struct Declared;
                template <class T, typename U>
                struct Pair {
                  struct Nested {};
                };
                template <>
                struct Pair<std::vector<int>, char> {};
                struct Outer::Inner {};
                union Bits {
                  int i;
                };
                struct stat Function() {
                  struct Local {};
                  return {};
                }
                struct stat variable {};
                int Other(struct Argument) { return kSize; }
                namespace {
                struct Hidden {};
                }  // namespace
                inline namespace v1 {
                enum Plain {};
                }
                }  // namespace a::b
                struct After {};
              )cc")
                  .classes,
              ElementsAre("After", "CType", "Global", "a::b::Bits", "a::b::Outer::Inner",
                          "a::b::Pair", "a::b::Pair<std::vector<int>,char>", "a::b::v1::Plain"));
}

TEST(DefinitionTest, ReadsFunctionsOfUnnamedNamespacesOnly) {
  EXPECT_THAT(DefinitionsOf(R"cc(
                namespace a {
                int Public(int) { return 1; }
                namespace {
                struct Hidden {
                  int Member() { return 2; }
                };
                int Declared(int);
                constexpr int kTable[] = {1, 2};
                template <class T>
                T First(const std::vector<T>& values) noexcept {
                  if (values.empty()) return {};
                  return values[0];
                }
                std::function<int(int)> Second() { return {}; }
                int Hidden::Outside() { return 3; }
                void PrintTo(const Hidden&, std::ostream*) {}
                TEST(Suite, Case) { EXPECT_TRUE(true); }
                }  // namespace
                namespace b {
                namespace {
                const char* First() { return nullptr; }
                }  // namespace
                }  // namespace b
                }  // namespace a
              )cc")
                  .own_functions,
              ElementsAre("a::(unnamed)First", "a::(unnamed)Second", "a::b::(unnamed)First"));
}

}  // namespace
}  // namespace tilewright
