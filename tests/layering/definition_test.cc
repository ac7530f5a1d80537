// Searches all sources for two definitions of one class or enumeration name. The linker keeps the
// inline members of one of them for both, so a program with both misbehaves without an error, and
// no compiler sees it where the two are in different libraries.

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

  /// Returns the qualified names of the classes and enumerations that the file defines at namespace
  /// scope. Names in unnamed namespaces are left out: they are this file's own.
  std::set<std::string> Read() {
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
        SkipBody();
      } else if (word == "}" && !scopes_.empty()) {
        scopes_.pop_back();
      }
    }
    EXPECT_THAT(scopes_, IsEmpty()) << "the scan lost its way";
    return found_;
  }

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
    ++at_;
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
    std::string scope;
    for (const std::string& part : scopes_) scope += part;
    if (scope.find(kUnnamed) == std::string::npos) found_.insert(scope + name);
  }

  static constexpr std::string_view kUnnamed = "(unnamed)";
  std::string code_;
  std::vector<std::string_view> tokens_;
  std::size_t at_ = 0;
  std::vector<std::string> scopes_;  // each with its "::"
  std::set<std::string> found_;
};

std::set<std::string> DefinitionsOf(const std::string& text) {
  return DefinitionReader(text).Read();
}

/// Returns "name: file file" for each name that more than one of the files defines. `files` has the
/// text of each file by its path.
std::vector<std::string> DefinedTwice(const std::map<std::string, std::string>& files) {
  std::map<std::string, std::string> where;
  std::set<std::string> twice;
  for (const auto& [path, text] : files) {
    for (const std::string& name : DefinitionsOf(text)) {
      std::string& paths = where[name];
      if (!paths.empty()) twice.insert(name);
      paths += " " + path;
    }
  }
  std::vector<std::string> lines;
  for (const std::string& name : twice) lines.push_back(name + ":" + where[name]);
  return lines;
}

TEST(DefinitionTest, EachClassHasOneDefinition) {
  // Headers that a test compares or compiles alone: those of a release, and generated ones.
  constexpr std::array<std::string_view, 2> kAlone = {"tests/capi/release_1_0/", "tests/fixtures/"};
  const std::filesystem::path root = TILEWRIGHT_SOURCE_DIR;
  std::map<std::string, std::string> files;
  for (const char* folder : {"include", "src", "records", "measure", "search", "cost_model",
                             "python_free_cli", "bench", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string path = std::filesystem::relative(entry.path(), root).string();
      if (!path.ends_with(".h") && !path.ends_with(".cc")) continue;
      if (std::ranges::any_of(kAlone, [&](auto alone) { return path.starts_with(alone); }))
        continue;
      const auto text = ReadFile(entry.path().string());
      ASSERT_TRUE(text.ok()) << text.status().message();
      files[path] = *text;
    }
  }
  EXPECT_GT(files.size(), 1000U);
  EXPECT_THAT(DefinedTwice(files), IsEmpty());
  EXPECT_THAT(DefinitionsOf(files["search/tune/proposer.h"]),
              Contains("tilewright::search::Proposal"));
}

TEST(DefinitionTest, FindsTwoClassesOfOneName) {
  EXPECT_THAT(DefinedTwice({{"search/a.h",
                             "namespace tilewright::search {\n"
                             "struct Proposal { int index; };\n"
                             "class Other;\n"
                             "}\n"},
                            {"search/open/b.cc",
                             "namespace tilewright {\nnamespace search {\n"
                             "class [[nodiscard]] Proposal final : public Base<int> {\n"
                             " public:\n  explicit Proposal(int index) : index_{index} {}\n};\n"
                             "struct Other {};\n"
                             "}}\n"}}),
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
              )cc"),
              ElementsAre("After", "CType", "Global", "a::b::Bits", "a::b::Outer::Inner",
                          "a::b::Pair", "a::b::Pair<std::vector<int>,char>", "a::b::v1::Plain"));
}

}  // namespace
}  // namespace tilewright
